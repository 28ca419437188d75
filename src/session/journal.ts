/** Port: the ordered log of what was done in one session. Must not throw: a failed write is a value, and damage is reported, never passed off as an empty log. */
export interface Journal {
  /** Resolves once the value (anything that survives JSON) is safe; values appended through one journal are read back in that order. */
  append(value: unknown): Promise<JournalAppended | JournalFailure>;
  /** Every readable entry by sequence and writer, together with all that could not be read. */
  read(): Promise<JournalContent>;
  /**
   * A session writes what it does, and now and then a snapshot in place of everything before it. `all`: what is before a
   * snapshot stays too, so that one can read later what was done and why. `state`: it may be removed.
   * @default all
   */
  readonly keeps?: "all" | "state";
  /** How long a request waits for an entry that is not answered, once. @default 2000 */
  readonly limitMs?: number;
}

/** An entry that was written. */
export interface JournalAppended {
  readonly status: "appended";
  /** Greater than that of every entry that was safe when this writer began. */
  readonly sequence: number;
}

/** An entry that could not be written. */
export interface JournalFailure {
  readonly status: "failed";
  /** The system's error code, such as ENOSPC, or NOT_JSON for a value that JSON cannot hold. */
  readonly code: string;
  readonly reason: string;
}

/** All that could be read of a journal, and all that could not. */
export interface JournalContent {
  readonly entries: readonly JournalEntry[];
  readonly problems: readonly JournalProblem[];
}

/** One value of a journal with its place in the order. */
export interface JournalEntry {
  /** Grows with every entry of a writer; two writers at the same time may use the same number. */
  readonly sequence: number;
  readonly writer: string;
  readonly value: unknown;
}

/** What could not be read: an unfinished last line, a damaged line, lines that are gone, or a place the system would not read. */
export interface JournalProblem {
  readonly type: "torn-tail" | "bad-line" | "missing-lines" | "failed";
  /** The part of the log that holds the problem, such as a file name. */
  readonly place: string;
  /** Counted from 1, where the problem belongs to a line. */
  readonly line?: number;
  readonly code: string;
  readonly reason: string;
}
