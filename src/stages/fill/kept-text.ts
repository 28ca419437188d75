import type { FillRows, FillSegment } from "./fill-rows.ts";
import { GAP_MARKER, type RowSelection } from "./select-rows.ts";
import { wholeChars } from "./whole-chars.ts";

/** What is left of a text, each gap one line, line numbers without their padding; undefined when it stays as it is. */
export function keptText(
  { rows }: FillRows,
  segment: FillSegment,
  { isKept }: RowSelection,
): string | undefined {
  const { text, firstRow, endRow } = segment;
  const isWhole = isKept.subarray(firstRow, endRow).every((kept) => kept === 1);
  if (isWhole && wholeChars(rows, segment) > text.length) return undefined;
  let kept = "";
  let previous = firstRow - 1;
  for (let row = firstRow; row < endRow; row++) {
    if (isKept[row] !== 1) continue;
    const blankLines = rows.blankLines[row] ?? 0;
    const isNext = row === previous + 1;
    if (!isNext) kept += kept === "" ? GAP_MARKER : `\n${GAP_MARKER}`;
    if (!isNext || blankLines !== -1) {
      if (kept !== "") kept += "\n";
      if (isNext && blankLines > 0) kept += "\n".repeat(blankLines);
    }
    kept += text.slice(rows.start[row], rows.end[row]);
    previous = row;
  }
  if (previous < endRow - 1) kept += kept === "" ? GAP_MARKER : `\n${GAP_MARKER}`;
  return kept;
}
