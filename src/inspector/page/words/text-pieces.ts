import type { TextRange } from "../../view/types.ts";

/** A long text as pieces that a page can bear: every marked range is there, each piece at most so long, up to a total. */
export function textPieces(text: string, { ranges, maxChars, pieceChars }: PieceOptions): TextPieces {
  const pieces: TextPiece[] = [];
  let shownChars = 0;
  let place = 0;
  const add = (start: number, end: number, isMarked: boolean): void => {
    if (end <= start) return;
    place = end;
    if (shownChars >= maxChars) return;
    const kept = Math.min(end - start, pieceChars, Math.max(MIN_PIECE_CHARS, maxChars - shownChars));
    shownChars += kept;
    if (kept === end - start) pieces.push({ text: text.slice(start, end), isMarked, start });
    else {
      const headEnd = start + Math.ceil((kept * 3) / 4);
      const tailStart = end - Math.floor(kept / 4);
      pieces.push({ text: text.slice(start, headEnd), isMarked, start, skippedChars: tailStart - headEnd });
      pieces.push({ text: text.slice(tailStart, end), isMarked, start: tailStart });
    }
  };
  for (const { start, end } of ranges) {
    add(place, Math.min(start, text.length), false);
    add(Math.max(place, start), Math.min(end, text.length), true);
  }
  add(place, text.length, false);
  return { pieces, hiddenChars: text.length - shownChars };
}

interface PieceOptions {
  /** In order, not overlapping. */
  readonly ranges: readonly TextRange[];
  /** About how much is shown of everything, and of one piece. */
  readonly maxChars: number;
  readonly pieceChars: number;
}

interface TextPieces {
  readonly pieces: readonly TextPiece[];
  readonly hiddenChars: number;
}

interface TextPiece {
  readonly text: string;
  readonly isMarked: boolean;
  readonly start: number;
  /** How much of the same piece is not shown behind this. */
  readonly skippedChars?: number;
}

const MIN_PIECE_CHARS = 80;
