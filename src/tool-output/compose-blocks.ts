import { copyOf } from "../text/truncate.ts";
import { isInsideLine, type TextCut } from "./keep-head-and-tail.ts";
import { omissionMarker, type ToolOutputStats } from "./notices.ts";
import {
  type BinaryPiece,
  type BlockPiece,
  isTextBlock,
  type TextBlock,
  type ToolContentBlock,
} from "./read-blocks.ts";

/**
 * Builds the list of blocks around the kept text. Other blocks keep their place, and text stays on its side of them.
 */
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

/** Marks a line that is cut in the middle. */
const LINE_CUT = "…";
