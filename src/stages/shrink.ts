import { clipJson } from "../text/clip.ts";
import { safeJson } from "../text/json.ts";
import { headCut, truncate } from "../text/truncate.ts";
import { cutOutcome, describeFile, handleOf, isCleared, outcomeText } from "../transcript/content.ts";
import { applyEdits, type Edit, type EditReason } from "../transcript/edit.ts";
import { IMAGE_CHARS } from "../transcript/estimate-message.ts";
import { isVisibleToModel, type Message, type Transcript } from "../transcript/message.ts";
import type { FilePart, Part, TextPart, ToolPart } from "../transcript/part.ts";

/**
 * Edits that cut the longest parts of some messages to one length, the largest at which a measure of all of them is
 * small enough; undefined when they are too large even at the least length. The caller says what is measured
 * (rendered characters, estimated tokens) and which parts may be cut.
 */
export function shrinkToFit(messages: Transcript, options: ShrinkOptions): readonly Edit[] | undefined {
  const { measure, maxSize, mostChars, leastChars = 0 } = options;
  const editsAt = (limitChars: number): readonly Edit[] => cutToLength(messages, { ...options, limitChars });
  const limitChars = largestPassing(
    (chars) => measure(applyEdits(messages, editsAt(chars), { at: 0 })) <= maxSize,
    { least: leastChars, most: mostChars },
  );
  return limitChars === undefined ? undefined : editsAt(limitChars);
}

/** What to cut, and how small the messages must become. */
interface ShrinkOptions extends Omit<CutOptions, "limitChars"> {
  /** The size of the messages, in whatever unit `maxSize` has. */
  readonly measure: (messages: Transcript) => number;
  readonly maxSize: number;
  /** The first length to try; no part is left longer. */
  readonly mostChars: number;
  /** Parts are not cut below this; 0 when unset. */
  readonly leastChars?: number;
}

/** Edits that cut every part of some messages that is longer than a limit. */
export function cutToLength(messages: Transcript, options: CutOptions): readonly Edit[] {
  const { cut, limitChars, stage, reason } = options;
  const edits: Edit[] = [];
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      const left = part.agentVisible === false ? part : cut(part, limitChars, message);
      if (left === part) continue;
      const chars = Math.max(0, charsIn(part) - (left === null ? 0 : charsIn(left)));
      const omitted = { chars, handle: handleOf(message, partIndex) };
      const where = { messageId: message.id, partIndex } as const;
      const why = { stage, reason, omitted };
      edits.push(
        left === null
          ? { type: "hide-part", ...where, what: "part", ...why }
          : { type: "replace-part", ...where, part: left, ...why },
      );
    }
  }
  return edits;
}

/** What to cut, and how its edits are labelled. */
interface CutOptions {
  /** Characters (UTF-16 units) that a part may keep. */
  readonly limitChars: number;
  readonly cut: CutPart;
  readonly stage: string;
  readonly reason: EditReason;
}

/** What a part becomes that may keep so many characters: itself when it is short enough, null when it goes as a whole. */
type CutPart = (part: Part, limitChars: number, message: Message) => Part | null;

/** The largest whole number between `least` and `most` that passes, found by bisection; undefined when `least` does not. */
export function largestPassing(
  passes: (value: number) => boolean,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): number | undefined {
  if (passes(most)) return most;
  if (!passes(least)) return undefined;
  let good = least;
  let bad = most;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (passes(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** Cuts the outputs of tools, which keep head and tail. */
export function cutOutput(part: Part, limitChars: number): Part {
  if (part.type !== "tool" || isCleared(part) || part.outcome.status === "pending") return part;
  return cutOutcome(part, { limitChars, method: "head-tail" });
}

/** Cuts outputs, and texts that are rendered. */
export function cutOutputOrText(part: Part, limitChars: number): Part {
  return part.type === "text" && !part.own ? cutText(part, limitChars) : cutOutput(part, limitChars);
}

/** Cuts everything that has a length: texts, outputs and inputs keep some, media become a line, signed reasoning goes as a whole. */
export function cutAnyPart(part: Part, limitChars: number, message: Message): Part | null {
  switch (part.type) {
    case "text":
      return cutText(part, limitChars);
    case "tool": {
      const bare = limitChars < IMAGE_CHARS ? withoutMedia(part, message) : part;
      return cutInput(cutOutput(bare, limitChars) as ToolPart, limitChars);
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

function cutText(part: TextPart, limitChars: number): TextPart {
  if (part.ignored) return part;
  const { text, cut } = truncate(part.text, { limitChars, method: "head-tail" });
  return cut === undefined ? part : { ...part, text, cut };
}

function cutInput(part: ToolPart, limitChars: number): ToolPart {
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

/** A part with a line in the place of each medium; the same reference when it has none. */
export function withoutMedia(part: Part, { summary }: Message): Part {
  if (part.type === "file") {
    const text: TextPart = { type: "text", text: mediaLine(part), synthetic: true };
    // A summary that has no text yet must not seem to have one.
    return summary === true ? { ...text, text: "", agentVisible: false } : text;
  }
  if (part.type !== "tool" || isCleared(part)) return part;
  const { outcome } = part;
  if (outcome.status !== "done" || outcome.attachments.length === 0) return part;
  const lines = [outcome.output, ...outcome.attachments.map(mediaLine)].filter((line) => line !== "");
  return { ...part, outcome: { ...outcome, output: lines.join("\n"), attachments: [] } };
}

/** The line that stands where a medium was. */
export function mediaLine(file: FilePart): string {
  const name = describeFile(file).replace(/\s+/g, " ").slice(0, 200);
  return `[File left out: ${name.toWellFormed()}]`;
}

/** The characters of a part that can be cut. */
function charsIn(part: Part): number {
  if (part.type === "text" || part.type === "reasoning") return part.text.length;
  if (part.type !== "tool") return 0;
  const outputChars = isCleared(part) ? 0 : outcomeText(part.outcome).length;
  return outputChars + (part.input === undefined ? 0 : safeJson(part.input).length);
}
