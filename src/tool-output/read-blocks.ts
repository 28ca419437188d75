import { addRemovedCounts, normalizeByLines, type RemovedCounts, toWellFormed } from "../text/normalize.ts";
import { looksBinary } from "./binary-content.ts";
import { addSizes, measureText, NO_SIZE, type TextSize, textSize } from "./text-size.ts";

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
export type BlockPiece<Block> = OtherPiece<Block> | BinaryPiece<Block> | TextPiece<Block>;

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

/** One piece of a tool's output. Text and bytes are trimmed; a block of any other type, such as an image, passes through untouched. */
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
