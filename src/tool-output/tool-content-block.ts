import type { TextSize } from "./text-size.ts";

/** One piece of a tool's output. Text and bytes are bounded; a block of any other type, such as an image, passes through untouched. */
export type ToolContentBlock = TextBlock | BytesBlock | OtherBlock;

export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  /** Set by `truncateToolContent` on what it returns changed; hidden, so that no tool can send it and no provider receives it. */
  readonly [BOUNDED]?: BoundedMark;
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

/** The key of the mark on blocks that need no second look. */
export const BOUNDED: unique symbol = Symbol.for("carryover.bounded");

/** Says that a text, notices included, is what became of an output, so that it is not cleaned or cut a second time. */
export interface BoundedMark {
  /** The text the mark speaks of; a block whose text has changed since is like any other. */
  readonly text: string;
  /** What the whole result shows of the output; the same object on every block of one result. */
  readonly shown: TextSize;
  readonly treatment: Treatment;
}

/** What was done to a text before it was counted. */
export interface Treatment {
  readonly isNormalized: boolean;
  readonly isRedacted: boolean;
}

/** The block with its mark, which copies and comparisons of the block do not see. */
export function withMark(block: TextBlock, mark: Omit<BoundedMark, "text">): TextBlock {
  return Object.defineProperty({ ...block }, BOUNDED, { value: { ...mark, text: block.text } });
}

/** The mark of a block that has had at least this treatment. */
export function markOf(block: TextBlock, { isNormalized, isRedacted }: Treatment): BoundedMark | undefined {
  const mark = block[BOUNDED];
  if (mark === undefined || mark.text !== block.text) return undefined;
  const { treatment } = mark;
  const isTreated = (treatment.isNormalized || !isNormalized) && (treatment.isRedacted || !isRedacted);
  return isTreated ? mark : undefined;
}

/** True for a block whose text counts against the limits. */
export function isTextBlock(block: ToolContentBlock): block is TextBlock {
  return block?.type === "text" && "text" in block && typeof block.text === "string";
}

/** True for a block of raw bytes. */
export function isBytesBlock(block: ToolContentBlock): block is BytesBlock {
  return block?.type === "bytes" && "bytes" in block && block.bytes instanceof Uint8Array;
}
