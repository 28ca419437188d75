import type { FillRows, FillSegment } from "./fill-rows.ts";
import type { NumberedWords } from "./number-words.ts";
import type { RowFacts } from "./read-newest-first.ts";

/**
 * Per row, from 0 to 1: how much was written lately of its names or of those of a row that it stands under, by
 * indentation. So a function that the plan names counts with its body and with the comment above it.
 */
export function enclosingNames(
  { segments, rows }: FillRows,
  { indent, isRemark }: NumberedWords,
  { namesWritten }: RowFacts,
): Float64Array {
  const names = new Float64Array(rows.count);
  // The rows that the present one stands under, the outermost first.
  const columnsAbove: number[] = [];
  const namesAbove: number[] = [];
  for (const segment of segments) {
    if (!isFileText(segment)) continue;
    const { firstRow, endRow } = segment;
    let depth = 0;
    for (let row = firstRow; row < endRow; row++) {
      const columns = indent[row] ?? 0;
      while (depth > 0 && (columnsAbove[depth - 1] ?? 0) >= columns) depth--;
      names[row] = depth === 0 ? 0 : (namesAbove[depth - 1] ?? 0);
      if (isRemark[row] === 1) continue;
      names[row] = Math.max(names[row] ?? 0, namesWritten[row] ?? 0);
      columnsAbove[depth] = columns;
      namesAbove[depth++] = names[row] ?? 0;
    }
    for (let row = endRow - 2; row >= firstRow; row--)
      if (isRemark[row] === 1 && indent[row] === indent[row + 1])
        names[row] = Math.max(names[row] ?? 0, names[row + 1] ?? 0);
  }
  return names;
}

function isFileText({ source }: FillSegment): boolean {
  return source !== "call" && source !== "user" && source !== "agent";
}
