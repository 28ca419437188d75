import type { FillSegment } from "./fill-rows.ts";
import type { RowTable } from "./row-table.ts";

/** What all rows of a text take: of a file that was read, without the padding of line numbers where that saves something. */
export function wholeChars({ chars }: RowTable, { source, text, firstRow, endRow }: FillSegment): number {
  if (source !== "read") return text.length + 1;
  let rowChars = 0;
  for (let row = firstRow; row < endRow; row++) rowChars += chars[row] ?? 0;
  return rowChars < text.length * (1 - PADDING_SHARE) ? rowChars : text.length + 1;
}

/** Less padding than this is left in place. */
const PADDING_SHARE = 0.03;
