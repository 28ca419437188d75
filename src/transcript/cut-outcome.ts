import { type TruncateOptions, truncate } from "../text/truncate.ts";
import { outcomeText, type ToolPart, withText } from "./part.ts";

/** A tool part whose output or error is shortened, with a note that adds to earlier ones; the same reference when nothing was cut. */
export function cutOutcome(part: ToolPart, options: TruncateOptions): ToolPart {
  const { text, cut } = truncate(outcomeText(part.outcome), options);
  if (cut === undefined) return part;
  return {
    ...part,
    outcome: withText(part.outcome, text),
    cut: {
      ...part.cut,
      ...cut,
      originalChars: part.cut?.originalChars ?? cut.originalChars,
      omittedChars: cut.omittedChars + (part.cut?.omittedChars ?? 0),
    },
  };
}
