/**
 * The rows of a transcript, oldest first, as columns. A row is a line that is not blank, or a piece of a very long one:
 * the smallest thing that is kept or left out.
 */
export interface RowTable {
  readonly count: number;
  /** Where each row begins in its text: behind the padding of a line number. */
  readonly start: Int32Array;
  /** Behind the line number itself. */
  readonly bodyStart: Int32Array;
  readonly end: Int32Array;
  /** Blank lines in front; -1 where a row goes on where the one before ends. */
  readonly blankLines: Int32Array;
  /** What each row takes when it is written. */
  readonly chars: Int32Array;
}

/** One row of a table. */
export interface FillRow {
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
  readonly blankLines: number;
}

/** Rows while they are gathered. */
export interface RowDraft {
  add(row: FillRow): void;
  count(): number;
  /** Takes back all rows from a number on. */
  cutTo(count: number): void;
  table(): RowTable;
}

/** A draft without rows. */
export function createRowDraft(): RowDraft {
  let columns = new Int32Array(FIELDS * 1024);
  let count = 0;
  return {
    add({ start, bodyStart, end, blankLines }) {
      const at = count * FIELDS;
      if (at === columns.length) columns = doubled(columns);
      columns[at] = start;
      columns[at + 1] = bodyStart;
      columns[at + 2] = end;
      columns[at + 3] = blankLines;
      count++;
    },
    count: () => count,
    cutTo(newCount) {
      count = newCount;
    },
    table() {
      const table = {
        start: new Int32Array(count),
        bodyStart: new Int32Array(count),
        end: new Int32Array(count),
        blankLines: new Int32Array(count),
        chars: new Int32Array(count),
      };
      for (let row = 0, at = 0; row < count; row++, at += FIELDS) {
        const start = columns[at] ?? 0;
        const end = columns[at + 2] ?? 0;
        const blankLines = columns[at + 3] ?? 0;
        table.start[row] = start;
        table.bodyStart[row] = columns[at + 1] ?? 0;
        table.end[row] = end;
        table.blankLines[row] = blankLines;
        table.chars[row] = end - start + 1 + Math.max(0, blankLines);
      }
      return { count, ...table };
    },
  };
}

const FIELDS = 4;

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
