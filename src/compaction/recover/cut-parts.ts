import { filterCompacted } from "../../stages/boundary.ts";
import { repairPairing } from "../../stages/repair.ts";
import { clipJson, safeJson } from "../../text/json.ts";
import { headCut, truncate } from "../../text/truncate.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  estimateContextTokens,
} from "../../transcript/estimate-context.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../transcript/message.ts";
import {
  type FilePart,
  outcomeText,
  type Part,
  type TextPart,
  type ToolPart,
} from "../../transcript/part.ts";
import { cutOutcome, handleOf, isCleared, toolResults } from "../../transcript/tool-results.ts";
import { findLastRequest } from "../plan/window.ts";

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

interface CutPartsOptions {
  /** Characters (UTF-16 units) that a part may keep; a medium counts as 4,800. */
  readonly maxChars: number;
  readonly stage: string;
}

/** A tool part whose output keeps at most this many characters, head and tail; the same reference when it is short enough. */
function cutOutput(part: ToolPart, maxChars: number): ToolPart {
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
function mediaText(part: FilePart, { summary }: Message): TextPart {
  const text: TextPart = { type: "text", text: mediaLine(part), synthetic: true };
  return summary === true ? { ...text, text: "", agentVisible: false } : text;
}

/** A tool part without its attachments, each named in a line at the end of the output. */
function withoutAttachments(part: ToolPart): ToolPart {
  const { outcome } = part;
  if (outcome.status !== "done" || outcome.attachments.length === 0) return part;
  const lines = [outcome.output, ...outcome.attachments.map(mediaLine)].filter((line) => line !== "");
  return { ...part, outcome: { ...outcome, output: lines.join("\n"), attachments: [] } };
}

interface PartPlace extends CutPartsOptions {
  readonly message: Message;
  readonly partIndex: number;
}

function cutPart(part: Part, place: PartPlace): Edit | undefined {
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
      return part.text.length > maxChars ? hidePart(part.text.length, place) : undefined;
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

function replaceWith(cut: Part, part: Part, { message, partIndex, stage }: PartPlace): Edit | undefined {
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

function hidePart(chars: number, { message, partIndex, stage }: PartPlace): Edit {
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

/** Edits that cut the outputs since the user's last request to a quarter of what an output may otherwise have. */
export function shrinkTurn(window: Transcript, outputMaxChars: number): readonly Edit[] {
  const maxChars = Math.floor(outputMaxChars * SHRUNKEN_SHARE);
  return toolResults(window.slice(findLastRequest(window) + 1)).flatMap(
    ({ message, partIndex, part, text }): Edit[] => {
      const cut = cutOutput(part, maxChars);
      if (cut === part) return [];
      const keptChars = outcomeText(cut.outcome).length;
      return [
        {
          type: "replace-part",
          messageId: message.id,
          partIndex,
          part: cut,
          stage: "recover-shrink-turn",
          reason: "recovery",
          omitted: { chars: Math.max(0, text.length - keptChars), handle: handleOf(message, partIndex) },
        },
      ];
    },
  );
}

const SHRUNKEN_SHARE = 0.25;

/**
 * Edits that put a line in the place of media, for a request with too many bytes: first all before the user's last
 * request, or the older half when there are none; `all` takes every one. Empty when there is no medium left.
 */
export function dropMedia(transcript: Transcript, which: "oldest" | "all"): readonly Edit[] {
  const window = wireOf(transcript);
  const media = mediaPlaces(window);
  if (which === "all") return media.map(dropMediaEdit);
  const requestIndex = findLastRequest(window);
  const older = media.filter(({ messageIndex }) => messageIndex < requestIndex);
  return (older.length > 0 ? older : media.slice(0, Math.ceil(media.length / 2))).map(dropMediaEdit);
}

interface MediaPlace {
  readonly message: Message;
  readonly messageIndex: number;
  readonly partIndex: number;
  readonly bare: Part;
}

function mediaPlaces(window: Transcript): readonly MediaPlace[] {
  return window.flatMap((message, messageIndex) =>
    message.parts.flatMap((part, partIndex): MediaPlace[] => {
      const isShown = isVisibleToModel(message) && part.agentVisible !== false;
      const bare = isShown ? withoutMedia(part, message) : part;
      return bare === part ? [] : [{ message, messageIndex, partIndex, bare }];
    }),
  );
}

function withoutMedia(part: Part, message: Message): Part {
  if (part.type === "file") return mediaText(part, message);
  return part.type === "tool" && !isCleared(part) ? withoutAttachments(part) : part;
}

function dropMediaEdit({ message, partIndex, bare }: MediaPlace): Edit {
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: bare,
    stage: "recover-drop-media",
    reason: "media",
    omitted: { chars: 0, handle: handleOf(message, partIndex) },
  };
}

/** What a provider would be sent of a transcript, with everything in it that is hidden still marked as such. */
export function wireOf(transcript: Transcript): Transcript {
  const window = filterCompacted(transcript);
  return applyEdits(window, repairPairing(window), { at: 0 });
}

/** How large the wire of a transcript is by estimate alone: a request that was refused has no usage to go by. */
export function estimateWire(transcript: Transcript, options: ContextEstimateOptions = {}): ContextEstimate {
  return estimateContextTokens(wireOf(transcript), {
    estimator: "calibrated",
    ...options,
    epochStartIndex: Number.POSITIVE_INFINITY,
  });
}

/** The same after some edits. */
export function estimateEdited(
  transcript: Transcript,
  edits: readonly Edit[],
  options: ContextEstimateOptions = {},
): ContextEstimate {
  return estimateWire(applyEdits(transcript, edits, { at: 0 }), options);
}
