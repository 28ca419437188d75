import { isFields } from "../text/is-fields.ts";
import type { EditBatch } from "./edit-batch.ts";
import { isEdit } from "./session-records.ts";

/** What was done in a session, as plain data for a store of one's own: with the same messages it gives the same window. */
export interface SessionState {
  readonly v: 1;
  /** The edits in force, oldest first. */
  readonly batches: readonly EditBatch[];
}

/** The batches in a state that was kept elsewhere, and how many could not be read. */
export function readSessionState(value: unknown): ReadState {
  if (value === undefined || value === null) return { batches: [], unreadable: 0 };
  if (!isFields(value) || value.v !== 1 || !Array.isArray(value.batches))
    return { batches: [], unreadable: 1 };
  const usable = value.batches.filter(isBatch);
  return { batches: usable, unreadable: value.batches.length - usable.length };
}

export interface ReadState {
  readonly batches: readonly EditBatch[];
  readonly unreadable: number;
}

function isBatch(value: unknown): value is EditBatch {
  if (!isFields(value)) return false;
  const { id, step, reason, at, edits } = value;
  const isNamed = typeof id === "string" && typeof step === "string" && typeof reason === "string";
  return isNamed && typeof at === "number" && Array.isArray(edits) && edits.every(isEdit);
}
