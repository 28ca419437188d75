import { COMPACTION_QUESTION, type Part, type ToolPart } from "../../transcript/part.ts";
import { filePlaceholder } from "../../transcript/render.ts";
import type { Fields } from "../fields.ts";
import type { Source } from "./block-adapter.ts";

/** The text block of a changed or new part; undefined for one that no text can stand for. */
export function writeText(
  part: Exclude<Part, ToolPart>,
  { value }: Source<Fields>,
  textType: string,
): Fields | undefined {
  const text = textFor(part);
  if (text === undefined || text.trim() === "") return undefined;
  return part.type === "text" && value !== undefined ? { ...value, text } : { type: textType, text };
}

/** What the model reads of a part that an edit wrote: a marker is the question a compaction asks, a file is its name. */
export function textFor(part: Exclude<Part, ToolPart>): string | undefined {
  switch (part.type) {
    case "text":
      return part.text;
    case "compaction":
      return COMPACTION_QUESTION;
    case "file":
      return filePlaceholder(part);
    case "reasoning":
    case "opaque":
      return undefined;
    default:
      return part satisfies never;
  }
}
