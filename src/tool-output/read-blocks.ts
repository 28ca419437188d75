import {
  addRemovedCounts,
  normalizeByLines,
  normalizeTextWithCounts,
  type RemovedCounts,
  toWellFormed,
} from "../text/normalize.ts";
import { copyOf, headCut } from "../text/truncate.ts";
import { isInsideLine, omissionMarker, type TextCut, type ToolOutputStats } from "./cut-text.ts";
import { addSizes, measureText, NO_SIZE, type TextSize, textSize } from "./limits.ts";

/** Reads the text of an output's blocks: cleaned, measured, and each piece with its position in the joined text. */
export function readToolText<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  cleaning: Cleaning,
): ToolText<Block> {
  let size = NO_SIZE;
  let endIndex = 0;
  let last = "";
  const removed: RemovedCounts[] = [];
  const pieces = blocks.map((block): BlockPiece<Block> => {
    if (!isTextBlock(block) && !isBytesBlock(block)) return { type: "other", block };
    const raw = isTextBlock(block) ? block.text : block.bytes;
    if (cleaning.binary !== "text" && looksBinary(raw)) return { type: "binary", block, raw };

    const cleaned = cleanRawText(raw, cleaning);
    if (cleaned.removed !== undefined) removed.push(cleaned.removed);
    const separator = separatorBetween(last, cleaned.text);
    size = addSizes(size, addSizes(cleaned.size, sizeOfSeparator(separator)));
    const startIndex = endIndex + separator.length;
    endIndex = startIndex + cleaned.text.length;
    if (cleaned.text !== "") last = cleaned.text;
    return { type: "text", block, raw, text: cleaned.text, startIndex, endIndex };
  });
  return {
    blocks,
    pieces,
    size,
    removed: removed.length === 0 ? undefined : removed.reduce(addRemovedCounts),
  };
}

/** What is done to a text before it is counted. */
interface Cleaning {
  readonly normalize?: "on" | "off";
  readonly binary?: "notice" | "text";
  readonly redact?: ((text: string) => string) | undefined;
}

export interface ToolText<Block> {
  /** What was given. */
  readonly blocks: readonly Block[];
  readonly pieces: readonly BlockPiece<Block>[];
  /** The size of the joined text. */
  readonly size: TextSize;
  /** What normalizing took out; unset when there was nothing. */
  readonly removed: RemovedCounts | undefined;
}

/** A block and what was read from it. */
type BlockPiece<Block> = OtherPiece<Block> | BinaryPiece<Block> | TextPiece<Block>;

interface OtherPiece<Block> {
  readonly type: "other";
  readonly block: Block;
}

export interface BinaryPiece<Block> {
  readonly type: "binary";
  readonly block: Block;
  readonly raw: string | Uint8Array;
}

interface TextPiece<Block> {
  readonly type: "text";
  readonly block: Block;
  readonly raw: string | Uint8Array;
  readonly text: string;
  /** Where the piece lies in the joined text. */
  readonly startIndex: number;
  readonly endIndex: number;
}

/** The whole text: pieces that do not end a line are separated by a line break. */
export function joinTexts(texts: readonly string[]): string {
  const joined: string[] = [];
  let last = "";
  for (const text of texts) {
    joined.push(separatorBetween(last, text), text);
    if (text !== "") last = text;
  }
  return joined.join("");
}

/** The output as the tool gave it, for the store: text while all of it is text, else bytes. */
export function rawContent(raws: readonly (string | Uint8Array)[]): string | Uint8Array {
  const [first] = raws;
  if (raws.length === 1 && first !== undefined) return first;
  const texts = raws.filter((raw) => typeof raw === "string");
  return texts.length === raws.length ? joinTexts(texts) : joinBytes(raws);
}

function joinBytes(raws: readonly (string | Uint8Array)[]): Uint8Array {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let lastByte: number | undefined;
  for (const raw of raws) {
    const bytes = typeof raw === "string" ? encoder.encode(raw) : raw;
    if (bytes.length === 0) continue;
    if (lastByte !== undefined && lastByte !== LINE_FEED) parts.push(Uint8Array.of(LINE_FEED));
    parts.push(bytes);
    lastByte = bytes.at(-1);
  }
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

const LINE_FEED = 0x0a;

function separatorBetween(last: string, next: string): "" | "\n" {
  return last === "" || next === "" || last.endsWith("\n") ? "" : "\n";
}

function sizeOfSeparator(separator: string): TextSize {
  return { lines: 0, chars: separator.length, bytes: separator.length };
}

interface CleanedText {
  readonly text: string;
  readonly size: TextSize;
  readonly removed?: RemovedCounts;
}

// Secrets are redacted after normalizing, which could reveal one, and before cutting, which could split one.
function cleanRawText(raw: string | Uint8Array, { normalize = "on", redact }: Cleaning): CleanedText {
  const text = typeof raw === "string" ? raw : new TextDecoder("utf-8", { ignoreBOM: true }).decode(raw);
  const wellFormed = toWellFormed(text);
  const measured = measureText(wellFormed);
  const needsNormalizing = normalize === "on" && !(measured.isNormal && wellFormed === text);
  const normalized = needsNormalizing ? normalizeByLines(text) : { text: wellFormed };
  const cleaned = redact?.(normalized.text) ?? normalized.text;
  return { ...normalized, text: cleaned, size: cleaned === wellFormed ? measured.size : textSize(cleaned) };
}

/** One piece of a tool's output. Text and bytes are bounded; a block of any other type, such as an image, passes through untouched. */
export type ToolContentBlock = TextBlock | BytesBlock | OtherBlock;

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** Output as it left a process: becomes text where it is text (invalid UTF-8 is replaced), else a notice. */
export interface BytesBlock {
  readonly type: "bytes";
  readonly bytes: Uint8Array;
  /** What the tool says it is; shown when the bytes are not text. */
  readonly mimeType?: string;
}

export interface OtherBlock {
  readonly type: string;
}

/** True for a block whose text counts against the limits. */
export function isTextBlock(block: ToolContentBlock): block is TextBlock {
  return block?.type === "text" && "text" in block && typeof block.text === "string";
}

/** True for a block of raw bytes. */
export function isBytesBlock(block: ToolContentBlock): block is BytesBlock {
  return block?.type === "bytes" && "bytes" in block && block.bytes instanceof Uint8Array;
}

/** True when so much of the first 8 KB is control or replacement characters that it is unreadable. */
export function looksBinary(content: string | Uint8Array): boolean {
  // Escape sequences, carriage returns and backspaces are what terminals print, so they do not count.
  const { text, removed } = normalizeTextWithCounts(sampleOf(content));
  const unreadable = removed.controls + (text.match(/\ufffd/g)?.length ?? 0);
  const total = removed.controls + text.length;
  if (unreadable <= total * MAX_UNREADABLE_SHARE) return false;
  // A word or two with one bad byte is still text.
  return unreadable >= FEW_CHARS || unreadable > total / 2;
}

/** The type of binary content, from what the tool says or from its first bytes. */
export function binaryType(content: string | Uint8Array, mimeType: unknown): string {
  if (typeof mimeType === "string" && MIME_TYPE.test(mimeType)) return mimeType;
  if (typeof content === "string") return UNKNOWN_TYPE;
  const match = SIGNATURES.find(([, signature]) => signature.every((byte, index) => content[index] === byte));
  return match?.[0] ?? UNKNOWN_TYPE;
}

const SAMPLE_LENGTH = 8_192;
const MAX_UNREADABLE_SHARE = 0.1;
const FEW_CHARS = 4;
const UNKNOWN_TYPE = "unknown type";
const MIME_TYPE = /^[\w.+-]{1,40}\/[\w.+-]{1,80}$/;

function sampleOf(content: string | Uint8Array): string {
  if (typeof content === "string") return content.slice(0, headCut(content, SAMPLE_LENGTH));
  return new TextDecoder().decode(content.subarray(0, SAMPLE_LENGTH));
}

const SIGNATURES: readonly (readonly [type: string, signature: readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46]],
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/gzip", [0x1f, 0x8b]],
  ["application/zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["application/x-xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["application/wasm", [0x00, 0x61, 0x73, 0x6d]],
  ["application/vnd.sqlite3", [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20]],
  ["ELF executable", [0x7f, 0x45, 0x4c, 0x46]],
  ["UTF-16 text", [0xff, 0xfe]],
  ["UTF-16 text", [0xfe, 0xff]],
];

/** Puts the blocks together again around what stays of the text; other blocks keep their place, and text its side of them. */
export function composeBlocks<Block extends ToolContentBlock>(
  request: Composition<Block>,
): readonly (Block | TextBlock)[] {
  const slots = slotsOf(request);
  const markerIndex = slots.findIndex((slot) => slot.type === "run" && request.cut.headEnd <= slot.endIndex);
  const texts = slots.map((slot, index) =>
    slot.type === "run" ? keptText(slot, { ...request, mayHoldMarker: index === markerIndex }) : "",
  );
  const shown = texts.flatMap((text, index) => (text === "" ? [] : [index]));
  const anywhere = slots.findIndex((slot) => slot.type === "run");
  const first = shown[0] ?? anywhere;
  const last = shown.at(-1) ?? anywhere;

  return slots.flatMap((slot, index): readonly (Block | TextBlock)[] => {
    if (slot.type === "other") return [slot.block];
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

type Slot<Block> = { readonly type: "other"; readonly block: Block | TextBlock } | Run<Block>;

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
    else if (piece.type === "binary")
      slots.push({ type: "other", block: { type: "text", text: noticeOf(piece) } });
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
  const { headEnd, tailStart } = cut;
  const within = (index: number): number => Math.min(endIndex, Math.max(startIndex, index));
  const markAt = (index: number): string =>
    within(index) === index && isInsideLine(text, index) ? LINE_CUT : "";
  const head = text.slice(startIndex, within(headEnd)) + markAt(headEnd);
  const tail = markAt(tailStart) + text.slice(within(tailStart), endIndex);
  // Where no end of the text is shown, the notice behind the head says what is missing.
  const hasMarker = mayHoldMarker && tailStart < text.length;
  if (!hasMarker) return head + tail;
  return joinLines([head, omissionMarker(stats), tail]);
}

function withNotices({ before, text, after }: { before: string; text: string; after: string }): string {
  const content = joinLines([before, text]);
  return joinLines([content, content && after && `\n${after}`]) || after;
}

function joinLines(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").reduce((joined, text) => endLine(joined) + text, "");
}

function endLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

/** Stands where a line is cut inside. */
const LINE_CUT = "…";
