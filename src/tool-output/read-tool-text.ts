import { type RemovedCounts, toWellFormed } from "../text/normalize-text.ts";
import { type RedactOptions, redactSecrets } from "../text/redact-secrets.ts";
import { looksBinary } from "./looks-binary.ts";
import { addRemovedCounts, normalizeByLines } from "./normalize-by-lines.ts";
import { addSizes, NO_SIZE, surveyText, type TextSize, textSize } from "./text-size.ts";
import {
  isBytesBlock,
  isTextBlock,
  markOf,
  type ToolContentBlock,
  type Treatment,
} from "./tool-content-block.ts";

/** Reads the text out of an output's blocks: cleaned, counted, and each piece with its place in the joined text. */
export function readToolText<Block extends ToolContentBlock>(
  blocks: readonly Block[],
  cleaning: Cleaning,
): ToolText<Block> {
  let size = NO_SIZE;
  let endIndex = 0;
  let last = "";
  const removed: RemovedCounts[] = [];
  const pieces = blocks.map((block): Piece<Block> => {
    if (!isTextBlock(block) && !isBytesBlock(block)) return { type: "other", block };
    const raw = isTextBlock(block) ? block.text : block.bytes;
    const isTreated = isTextBlock(block) && markOf(block, cleaning.treatment) !== undefined;
    if (!isTreated && looksBinary(raw)) return { type: "binary", block, raw };

    const cleaned = isTreated ? { text: block.text, size: textSize(block.text) } : cleanText(raw, cleaning);
    if (cleaned.removed !== undefined) removed.push(cleaned.removed);
    const separator = separatorBetween(last, cleaned.text);
    size = addSizes(size, addSizes(cleaned.size, sizeOfSeparator(separator)));
    const startIndex = endIndex + separator.length;
    endIndex = startIndex + cleaned.text.length;
    if (cleaned.text !== "") last = cleaned.text;
    return { type: "text", block, raw, text: cleaned.text, startIndex, endIndex };
  });
  return { pieces, size, removed: removed.length === 0 ? undefined : removed.reduce(addRemovedCounts) };
}

/** What is to be done to a text before it is counted. */
export interface Cleaning {
  readonly treatment: Treatment;
  readonly redact: RedactOptions | undefined;
}

export interface ToolText<Block> {
  readonly pieces: readonly Piece<Block>[];
  /** The size of the joined text. */
  readonly size: TextSize;
  /** What normalizing took out; unset when there was nothing. */
  readonly removed: RemovedCounts | undefined;
}

/** A block as the text sees it. */
export type Piece<Block> = OtherPiece<Block> | BinaryPiece<Block> | TextPiece<Block>;

export interface OtherPiece<Block> {
  readonly type: "other";
  readonly block: Block;
}

export interface BinaryPiece<Block> {
  readonly type: "binary";
  readonly block: Block;
  readonly raw: string | Uint8Array;
}

export interface TextPiece<Block> {
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

// Redacting comes after normalizing, which would uncover a key again, and before any cut, which would halve one.
function cleanText(raw: string | Uint8Array, { treatment, redact }: Cleaning): CleanedText {
  const text = typeof raw === "string" ? raw : new TextDecoder("utf-8", { ignoreBOM: true }).decode(raw);
  const wellFormed = toWellFormed(text);
  const survey = surveyText(wellFormed);
  const needsNormalizing = treatment.isNormalized && !(survey.isNormal && wellFormed === text);
  const normalized = needsNormalizing ? normalizeByLines(text) : { text: wellFormed };
  const cleaned = redact === undefined ? normalized.text : redactSecrets(normalized.text, redact);
  return { ...normalized, text: cleaned, size: cleaned === wellFormed ? survey.size : textSize(cleaned) };
}
