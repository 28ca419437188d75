import { type NormalizedText, normalizeTextWithCounts, type RemovedCounts } from "../text/normalize-text.ts";

/** Gives what `normalizeTextWithCounts` gives, piece by piece where the text allows it, so that a huge text needs little memory. */
export function normalizeByLines(text: string, pieceChars: number = PIECE_CHARS): NormalizedText {
  if (text.length <= pieceChars || MULTI_LINE_SEQUENCE.test(text)) return normalizeTextWithCounts(text);
  const texts: string[] = [];
  let removed = NOTHING_REMOVED;
  for (let start = 0; start < text.length; ) {
    const end = endOfLine(text, start + pieceChars);
    const piece = normalizeTextWithCounts(text.slice(start, end));
    texts.push(piece.text);
    removed = addRemovedCounts(removed, piece.removed);
    start = end;
  }
  return { text: texts.join(""), removed };
}

/** The sum of what two normalizings took out. */
export function addRemovedCounts(first: RemovedCounts, second: RemovedCounts): RemovedCounts {
  return {
    escapeSequences: first.escapeSequences + second.escapeSequences,
    overwrites: first.overwrites + second.overwrites,
    controls: first.controls + second.controls,
    invisible: first.invisible + second.invisible,
    loneSurrogates: first.loneSurrogates + second.loneSurrogates,
  };
}

const NOTHING_REMOVED: RemovedCounts = {
  escapeSequences: 0,
  overwrites: 0,
  controls: 0,
  invisible: 0,
  loneSurrogates: 0,
};

const PIECE_CHARS = 262_144;

// Only these reach over a line end; everything else that normalizing looks at lies within one line.
const MULTI_LINE_SEQUENCE = /\x1b[PX^_]|[\x90\x98\x9e\x9f]/;

function endOfLine(text: string, index: number): number {
  const lineBreak = text.indexOf("\n", index);
  return lineBreak < 0 ? text.length : lineBreak + 1;
}
