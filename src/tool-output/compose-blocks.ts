import { formatBytes, plural } from "../text/display.ts";
import { normalizeText, type RemovedCounts } from "../text/normalize.ts";
import type { TextCut, ToolOutputStats, TruncatedBy } from "./cut-text.ts";
import {
  type BinaryPiece,
  type BlockPiece,
  isTextBlock,
  type TextBlock,
  type ToolContentBlock,
} from "./read-blocks.ts";
import type { SpillFailure, SpillRef } from "./spill.ts";

/** Puts the blocks together again around what stays of the text; other blocks keep their place, and text its side of them. */
export function composeBlocks<Block extends ToolContentBlock>(
  request: Composition<Block>,
): readonly (Block | TextBlock)[] {
  const slots = slotsOf(request);
  const markerIndex = slots.findIndex((slot) => slot.type === "run" && request.cut.headEnd <= slot.endIndex);
  const texts = slots.map((slot, index) =>
    slot.type === "run" ? keptText(slot, { ...request, mayHoldMarker: index === markerIndex }) : "",
  );
  const anywhere = slots.findIndex((slot) => slot.type === "run");
  const firstShown = texts.findIndex((text) => text !== "");
  const first = firstShown < 0 ? anywhere : firstShown;
  const last = firstShown < 0 ? anywhere : texts.findLastIndex((text) => text !== "");

  return slots.flatMap((slot, index): readonly (Block | TextBlock)[] => {
    if (slot.type === "other") return [slot.block];
    if (slot.type === "notice") return [{ type: "text", text: slot.text }];
    const before = index === first ? request.before : "";
    const after = index === last ? request.after : "";
    const text = withNotices({ before, text: texts[index] ?? "", after });
    if (text === "" && request.cut.by !== "none") return [];
    const block = isTextBlock(slot.block) ? slot.block : ({ type: "text" } as const);
    return [{ ...block, text: request.cut.by === "none" ? text : copyOf(text) }];
  });
}

interface Composition<Block> {
  readonly pieces: readonly BlockPiece<Block>[];
  /** The joined text of the pieces. */
  readonly text: string;
  readonly cut: TextCut;
  readonly stats: ToolOutputStats;
  /** A line before the text, or nothing. */
  readonly before: string;
  /** The lines after the text, or nothing. */
  readonly after: string;
  /** The line in the place of a piece that is not text. */
  readonly noticeOf: (piece: BinaryPiece<Block>) => string;
}

type Slot<Block> = { readonly type: "other"; readonly block: Block } | Notice | Run<Block>;

interface Notice {
  readonly type: "notice";
  readonly text: string;
}

/** Neighbouring text blocks become one, so that a host which joins blocks cannot join the last line of one to the first of the next. */
interface Run<Block> {
  readonly type: "run";
  readonly block: Block;
  readonly startIndex: number;
  readonly endIndex: number;
}

function slotsOf<Block>({ pieces, cut, noticeOf }: Composition<Block>): readonly Slot<Block>[] {
  const slots: Slot<Block>[] = [];
  for (const piece of pieces) {
    const previous = slots.at(-1);
    if (piece.type === "other") slots.push(piece);
    else if (piece.type === "binary") slots.push({ type: "notice", text: noticeOf(piece) });
    else if (previous?.type === "run" && cut.by !== "none") {
      slots[slots.length - 1] = { ...previous, endIndex: piece.endIndex };
    } else {
      slots.push({ type: "run", block: piece.block, startIndex: piece.startIndex, endIndex: piece.endIndex });
    }
  }
  return slots;
}

function keptText<Block>(
  { startIndex, endIndex }: Run<Block>,
  { text, cut, stats, mayHoldMarker }: Composition<Block> & { readonly mayHoldMarker: boolean },
): string {
  if (cut.by === "none") return text.slice(startIndex, endIndex);
  const head = text.slice(startIndex, Math.max(startIndex, Math.min(endIndex, cut.headEnd)));
  const tail = text.slice(Math.min(endIndex, Math.max(startIndex, cut.tailStart)), endIndex);
  // Where no end of the text is shown, the notice behind the head says what is missing.
  const hasMarker = mayHoldMarker && cut.tailStart < text.length;
  if (!hasMarker) return head + tail;
  return joinLines([head, omissionMarker(stats), tail]);
}

function withNotices({ before, text, after }: { before: string; text: string; after: string }): string {
  const content = joinLines([before, text]);
  if (after === "") return content;
  return content === "" ? after : `${joinLines([content, "\n"])}${after}`;
}

function joinLines(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").reduce((joined, text) => endLine(joined) + text, "");
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** A real copy: JavaScript engines keep the whole string alive while a slice of it is in use. */
function copyOf(text: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}

/** The lines after a cut output: how much is shown, and where the whole of it is. */
export function cutNotice({ by, stats, removed, spill, recallTool }: CutNotice): string {
  const { lines, bytes, chars } = stats;
  const shown = [
    `${lines.shown} of ${lines.total} lines`,
    `${formatBytes(bytes.shown)} of ${formatBytes(bytes.total)}`,
    `${chars.shown} of ${chars.total} chars`,
  ].join(", ");
  const title = by === "spill" ? "Output too large, preview only" : `Output truncated by ${by}`;
  const notice = [`[${title}: ${shown} shown.]`];
  const removedPieces = describeRemoved(removed);
  if (removedPieces !== "") notice.push(`[Removed before counting: ${removedPieces}.]`);
  if (spill !== undefined)
    notice.push(`[Full output kept: ${describeSpill(spill)}. ${recallHint(spill, recallTool)}]`);
  return notice.join("\n");
}

interface CutNotice {
  readonly by: TruncatedBy;
  readonly stats: ToolOutputStats;
  readonly removed: RemovedCounts | undefined;
  readonly spill: SpillRef | undefined;
  readonly recallTool: string;
}

/** The line in the place of an output that is not text. */
export function binaryNotice({ type, bytes, spill }: BinaryNotice): string {
  const what = `Binary output not shown: ${type}`;
  if (spill?.status === "stored") return `[${what}, ${describeSpill(spill)}]`;
  const notSaved = spill === undefined ? "" : `, not saved: ${spill.code}`;
  return `[${what}, ${formatBytes(bytes)}${notSaved}]`;
}

interface BinaryNotice {
  readonly type: string;
  readonly bytes: number;
  readonly spill: SpillRef | SpillFailure | undefined;
}

/** The line before an output that could not be kept. */
export function notSavedNotice({ code }: SpillFailure): string {
  return `[Full output not saved: ${code}]`;
}

/** The line in the place of what was left out. */
function omissionMarker({ lines, chars }: ToolOutputStats): string {
  const omittedChars = plural(chars.omitted, "char");
  return lines.omitted === 0
    ? `[... ${omittedChars} omitted ...]`
    : `[... ${plural(lines.omitted, "line")} (${omittedChars}) omitted ...]`;
}

function describeSpill({ bytes, handle, sha256, path }: SpillRef): string {
  // Stores that name content by its hash would say the same 64 characters twice.
  const names =
    handle === sha256
      ? `handle and sha256 ${withoutLineBreaks(handle)}`
      : `handle ${withoutLineBreaks(handle)}, sha256 ${withoutLineBreaks(sha256)}`;
  const place = path === undefined ? "" : `, path ${withoutLineBreaks(path)}`;
  return `${formatBytes(bytes)}, ${names}${place}`;
}

function recallHint({ path }: SpillRef, recallTool: string): string {
  const recall = `Read parts of it with the ${withoutLineBreaks(recallTool)} tool and this handle`;
  return path === undefined ? `${recall}.` : `${recall}, or read that file in ranges.`;
}

const MAX_VALUE_CHARS = 4_096;

/** What a store or a host says comes from outside; blanks stay, since they may be part of a path. */
function withoutLineBreaks(value: unknown): string {
  return normalizeText(String(value).slice(0, MAX_VALUE_CHARS)).replace(/[\r\n]+/g, " ");
}

const REMOVED_NAMES: Readonly<Record<keyof RemovedCounts, string>> = {
  escapeSequences: "escape sequences",
  overwrites: "overwrites",
  controls: "control characters",
  invisible: "invisible characters",
  loneSurrogates: "broken characters",
};

function describeRemoved(removed: RemovedCounts | undefined): string {
  if (removed === undefined) return "";
  const kinds = Object.entries(REMOVED_NAMES) as [keyof RemovedCounts, string][];
  return kinds
    .filter(([kind]) => removed[kind] > 0)
    .map(([kind, name]) => `${name} ${removed[kind]}`)
    .join(", ");
}
