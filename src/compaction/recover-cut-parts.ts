import { clipJson } from "../text/clip-json.ts";
import { safeJson } from "../text/safe-json.ts";
import { headCut, truncate } from "../text/truncate.ts";
import { cutOutcome } from "../transcript/cut-outcome.ts";
import type { Edit } from "../transcript/edit.ts";
import { IMAGE_CHARS } from "../transcript/estimate-message-tokens.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { type FilePart, outcomeText, type Part, type TextPart, type ToolPart } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";

/**
 * Edits that bring every part of some messages down to one length: texts, results and inputs keep head and tail,
 * media become a line, reasoning (which providers sign) goes as a whole.
 */
export function cutPartsTo(messages: Transcript, { maxChars, stage }: CutPartsOptions): readonly Edit[] {
  const edits: Edit[] = [];
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const edit = cutPart(part, { message, partIndex, maxChars, stage });
      if (edit !== undefined) edits.push(edit);
    }
  }
  return edits;
}

export interface CutPartsOptions {
  /** Characters (UTF-16 units) that a part may keep; a medium counts as 4,800. */
  readonly maxChars: number;
  readonly stage: string;
}

/** A tool part whose output keeps at most this many characters, head and tail; the same reference when it is short enough. */
export function cutOutput(part: ToolPart, maxChars: number): ToolPart {
  const text = outputOf(part);
  if (text === undefined || text.length <= maxChars) return part;
  return cutOutcome(part, { limitChars: maxChars, method: "head-tail" });
}

/** The line that stands where a medium was. */
export function mediaLine({ mime, filename }: FilePart): string {
  const name = (filename === undefined ? mime : `${mime} ${filename}`).replace(/\s+/g, " ").slice(0, 200);
  return `[File left out: ${name.toWellFormed()}]`;
}

/** A text in place of a medium. In a summary that has no words yet the text must not pass for them, so there it is hidden. */
export function mediaText(part: FilePart, { summary }: Message): TextPart {
  const text: TextPart = { type: "text", text: mediaLine(part), synthetic: true };
  return summary === true ? { ...text, text: "", agentVisible: false } : text;
}

/** A tool part without its attachments, each named in a line at the end of the output. */
export function withoutAttachments(part: ToolPart): ToolPart {
  const { outcome } = part;
  if (outcome.status !== "done" || outcome.attachments.length === 0) return part;
  const lines = [outcome.output, ...outcome.attachments.map(mediaLine)].filter((line) => line !== "");
  return { ...part, outcome: { ...outcome, output: lines.join("\n"), attachments: [] } };
}

interface Place extends CutPartsOptions {
  readonly message: Message;
  readonly partIndex: number;
}

function cutPart(part: Part, place: Place): Edit | undefined {
  const { maxChars } = place;
  switch (part.type) {
    case "text":
      return part.ignored ? undefined : replaceWith(cutText(part, maxChars), part, place);
    case "tool": {
      const bare = maxChars < IMAGE_CHARS && !isCleared(part) ? withoutAttachments(part) : part;
      return replaceWith(cutInput(cutOutput(bare, maxChars), maxChars), part, place);
    }
    case "file":
      if (maxChars >= IMAGE_CHARS) return undefined;
      return replaceWith(mediaText(part, place.message), part, place);
    case "reasoning":
      return part.text.length > maxChars ? hide(part.text.length, place) : undefined;
    case "compaction":
    case "opaque":
      return undefined;
    default:
      part satisfies never;
      return undefined;
  }
}

function cutText(part: TextPart, maxChars: number): TextPart {
  const { text, cut } = truncate(part.text, { limitChars: maxChars, method: "head-tail" });
  return cut === undefined ? part : { ...part, text, cut };
}

function cutInput(part: ToolPart, maxChars: number): ToolPart {
  if (part.input === undefined) return part;
  const json = safeJson(part.input);
  if (json.length <= maxChars) return part;
  const end = headCut(json, Math.min(maxChars, MAX_PREVIEW_CHARS));
  const originalChars = part.inputCut?.originalChars ?? json.length;
  const inputCut = {
    method: "head",
    originalChars,
    omittedChars: originalChars - Math.min(originalChars, end),
    limitChars: maxChars,
    preview: `${json.slice(0, end)}...`,
  } as const;
  return { ...part, input: clipJson(part.input, maxChars), inputCut };
}

const MAX_PREVIEW_CHARS = 500;

function outputOf(part: ToolPart): string | undefined {
  return isCleared(part) || part.outcome.status === "pending" ? undefined : outcomeText(part.outcome);
}

function replaceWith(cut: Part, part: Part, { message, partIndex, stage }: Place): Edit | undefined {
  if (cut === part) return undefined;
  const chars = Math.max(0, charsIn(part) - charsIn(cut));
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: cut,
    stage,
    reason: "recovery",
    omitted: { chars, handle: handleOf(message, partIndex) },
  };
}

function charsIn(part: Part): number {
  if (part.type === "text" || part.type === "reasoning") return part.text.length;
  if (part.type !== "tool") return 0;
  return (outputOf(part)?.length ?? 0) + (part.input === undefined ? 0 : safeJson(part.input).length);
}

function hide(chars: number, { message, partIndex, stage }: Place): Edit {
  return {
    type: "hide-part",
    messageId: message.id,
    partIndex,
    what: "part",
    stage,
    reason: "recovery",
    omitted: { chars, handle: handleOf(message, partIndex) },
  };
}
