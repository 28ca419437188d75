import { clipJson } from "../text/clip.ts";
import { safeJson } from "../text/json.ts";
import { headCut, truncate } from "../text/truncate.ts";
import { cutOutcome, describeFile, isCleared } from "../transcript/content.ts";
import { IMAGE_CHARS } from "../transcript/estimate-message.ts";
import type { Message } from "../transcript/message.ts";
import type { FilePart, Part, TextPart, ToolPart } from "../transcript/part.ts";

/** Cuts everything that has a length: texts, outputs and inputs keep some, media become a line, signed reasoning goes as a whole. */
export function cutAnyPart(part: Part, limitChars: number, message: Message): Part | null {
  switch (part.type) {
    case "text":
      return cutTextPart(part, limitChars);
    case "tool": {
      const bare = limitChars < IMAGE_CHARS ? withoutMedia(part, message) : part;
      return cutToolInput(cutOutput(bare, limitChars) as ToolPart, limitChars);
    }
    case "file":
      return limitChars < IMAGE_CHARS ? withoutMedia(part, message) : part;
    case "reasoning":
      return part.text.length > limitChars ? null : part;
    case "compaction":
    case "opaque":
      return part;
    default:
      part satisfies never;
      return part;
  }
}

/** Cuts outputs, and texts that are rendered. */
export function cutOutputOrText(part: Part, limitChars: number): Part {
  return part.type === "text" && !part.own ? cutTextPart(part, limitChars) : cutOutput(part, limitChars);
}

/** Cuts the outputs of tools, which keep head and tail. */
export function cutOutput(part: Part, limitChars: number): Part {
  if (part.type !== "tool" || isCleared(part) || part.outcome.status === "pending") return part;
  return cutOutcome(part, { limitChars, method: "head-tail" });
}

function cutTextPart(part: TextPart, limitChars: number): TextPart {
  if (part.ignored) return part;
  const { text, cut } = truncate(part.text, { limitChars, method: "head-tail" });
  return cut === undefined ? part : { ...part, text, cut };
}

function cutToolInput(part: ToolPart, limitChars: number): ToolPart {
  if (part.input === undefined) return part;
  const json = safeJson(part.input);
  if (json.length <= limitChars) return part;
  return clipInput(part, { json, limitChars, previewChars: Math.min(limitChars, MAX_PREVIEW_CHARS) });
}

const MAX_PREVIEW_CHARS = 500;

/** A call with its input cut to a number of characters, and the beginning of the whole input's JSON as a preview. */
export function clipInput(
  part: ToolPart,
  { json, limitChars, previewChars = limitChars }: ClipInput,
): ToolPart {
  const end = headCut(json, previewChars);
  const originalChars = part.inputCut?.originalChars ?? json.length;
  const omittedChars = originalChars - Math.min(originalChars, end);
  const preview = `${json.slice(0, end)}...`;
  const inputCut = { method: "head", originalChars, omittedChars, limitChars, preview } as const;
  return { ...part, input: clipJson(part.input, limitChars), inputCut };
}

interface ClipInput {
  /** The input as JSON. */
  readonly json: string;
  readonly limitChars: number;
  readonly previewChars?: number;
}

/** Replaces media by a line with their name; the same reference when the part has none. */
export function withoutMedia(part: Part, { summary }: Message): Part {
  if (part.type === "file") {
    const text: TextPart = { type: "text", text: mediaLine(part), synthetic: true };
    // A summary without text must stay without text.
    return summary === true ? { ...text, text: "", agentVisible: false } : text;
  }
  if (part.type !== "tool" || isCleared(part)) return part;
  const { outcome } = part;
  if (outcome.status !== "done" || outcome.attachments.length === 0) return part;
  const lines = [outcome.output, ...outcome.attachments.map(mediaLine)].filter((line) => line !== "");
  return { ...part, outcome: { ...outcome, output: lines.join("\n"), attachments: [] } };
}

/** The line in place of a file. */
export function mediaLine(file: FilePart): string {
  const name = describeFile(file).replace(/\s+/g, " ").slice(0, 200);
  return `[File left out: ${name.toWellFormed()}]`;
}
