/**
 * Port: small records, each replaced as a whole by compare-and-set on its state. Must not throw: every outcome is a
 * value, and a damaged record is never reported as a missing one.
 */
export interface RecordStore {
  get(id: string): Promise<RecordFound | RecordMissing | RecordCorrupt | RecordFailure>;
  /** Stores the value if the record is still in the expected state, atomically against all other writers. */
  put(write: RecordWrite): Promise<RecordStored | RecordConflict | RecordFailure>;
  list(): Promise<RecordList | RecordFailure>;
  /** Removes the record and all that was kept of it, if it is still in the expected state. */
  delete(id: string, expected: RecordState): Promise<RecordDeleted | RecordConflict | RecordFailure>;
}

/** The state of a record: its version, or that there is none, or that only damaged copies are left. */
export type RecordState = number | "missing" | "corrupt";

export interface RecordWrite {
  readonly id: string;
  /** Anything that survives JSON. */
  readonly value: unknown;
  readonly expected: RecordState;
}

export interface RecordFound {
  readonly status: "found";
  readonly id: string;
  /** Greater than every earlier version of this id, also across a delete, so that it can fence off an old owner. */
  readonly version: number;
  readonly value: unknown;
  /** The newest copy was damaged and set aside; this is the one before it. */
  readonly recovered?: true;
  /** How long ago it was stored, by the clock of the store, where that is another than ours. */
  readonly ageMs?: number;
}

export interface RecordMissing {
  readonly status: "missing";
}

/** No copy can be read; what is left of them is kept aside until the record is deleted. */
export interface RecordCorrupt {
  readonly status: "corrupt";
  readonly reason: string;
}

export interface RecordStored {
  readonly status: "stored";
  readonly version: number;
}

export interface RecordDeleted {
  readonly status: "deleted";
}

/** Nothing was changed, since the record was not in the expected state. */
export interface RecordConflict {
  readonly status: "conflict";
  readonly actual: RecordState;
}

/** The old or the new state is in place, never a mix; read again before trying again. */
export interface RecordFailure {
  readonly status: "failed";
  /** The system's error code, such as ENOSPC, or NOT_JSON, LOCKED, UNSAFE_FOLDER, UNSAFE_FILE, ID_COLLISION. */
  readonly code: string;
  readonly reason: string;
}

export interface RecordList {
  readonly status: "listed";
  /** By id, in code unit order. */
  readonly records: readonly RecordFound[];
  readonly problems: readonly RecordProblem[];
}

/** A record that exists but could not be listed. */
export interface RecordProblem {
  /** Unset when the id stood only in the damaged content. */
  readonly id?: string;
  readonly place: string;
  readonly code: string;
  readonly reason: string;
}
