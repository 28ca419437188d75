import type { MessageRow, WindowView } from "../../view/types.ts";
import type { SentView } from "./engine-messages.ts";

/** A view and those of its rows that the other side does not have: a budget that moves a little changes few of ten thousand. */
export function sentView({ rows, ...rest }: WindowView, known: readonly MessageRow[]): SentRows {
  const changed = rows.filter((row, index) => row !== known[index]);
  const slices: (readonly MessageRow[])[] = [];
  for (let from = 0; from < changed.length; from += SLICE_ROWS) {
    slices.push(changed.slice(from, from + SLICE_ROWS));
  }
  return { view: { ...rest, rowCount: rows.length }, slices };
}

export interface SentRows {
  readonly view: SentView;
  /** The rows that differ, few enough at once that whoever reads them drops no frame. */
  readonly slices: readonly (readonly MessageRow[])[];
}

const SLICE_ROWS = 400;

/** The view again; rows that were not sent are the known objects. */
export function receivedView({ rowCount, ...rest }: SentView, { changed, known }: ReceivedRows): WindowView {
  const rows = known.slice(0, rowCount);
  for (const row of changed) rows[row.index] = row;
  return { ...rest, rows };
}

export interface ReceivedRows {
  readonly changed: readonly MessageRow[];
  readonly known: readonly MessageRow[];
}
