import { omissionMarker } from "./cut-notice.ts";
import type { TextCut } from "./cut-text.ts";
import type { BinaryPiece, Piece } from "./read-tool-text.ts";
import type { TextSize } from "./text-size.ts";
import {
  isTextBlock,
  type TextBlock,
  type ToolContentBlock,
  type Treatment,
  withMark,
} from "./tool-content-block.ts";
import type { ToolOutputStats } from "./tool-output-result.ts";

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
    if (slot.type === "notice") return [bounded({ type: "text", text: slot.text }, request)];
    const before = index === first ? request.before : "";
    const after = index === last ? request.after : "";
    const text = withNotices({ before, text: texts[index] ?? "", after });
    if (text === "" && request.cut.by !== "none") return [];
    return [bounded({ ...(isTextBlock(slot.block) ? slot.block : TEXT), text }, request)];
  });
}

export interface Composition<Block> {
  readonly pieces: readonly Piece<Block>[];
  /** The joined text of the pieces. */
  readonly text: string;
  readonly cut: TextCut;
  readonly stats: ToolOutputStats;
  readonly shown: TextSize;
  readonly treatment: Treatment;
  /** A line before the text, or nothing. */
  readonly before: string;
  /** The lines after the text, or nothing. */
  readonly after: string;
  readonly noticeOf: (piece: BinaryPiece<Block>) => string;
}

type Slot<Block> = { readonly type: "other"; readonly block: Block } | Notice | Run<Block>;

interface Notice {
  readonly type: "notice";
  readonly text: string;
}

/** Neighbouring text: a host that glues blocks together must not glue the last line of one to the first of the next. */
interface Run<Block> {
  readonly type: "run";
  readonly block: Block;
  readonly startIndex: number;
  readonly endIndex: number;
}

const TEXT = { type: "text" } as const;

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

function bounded<Block>(block: TextBlock, { cut, shown, treatment }: Composition<Block>): TextBlock {
  const text = cut.by === "none" ? block.text : detach(block.text);
  return withMark({ ...block, text }, { shown, treatment });
}

/** A copy: engines let a slice keep the whole string alive that it was taken from. */
function detach(text: string): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}
