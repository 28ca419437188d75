/** What each step of a session gained, in order: how a loop without progress is noticed. */
export interface Ledger {
  enter(entry: LedgerEntry): void;
  entries(): readonly LedgerEntry[];
  /** Compactions in a row, up to now, that gained nothing while the window was full. */
  idleCompactions(): number;
  /** Says that the window fits: the next compaction is the first of a new row. */
  endIdleCompactions(): void;
}

export interface LedgerEntry {
  readonly step: string;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: "applied" | "nothing" | "failed" | "aborted" | "undone";
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Set when something else had to stand in for the model. */
  readonly degraded?: true;
  readonly note?: string;
}

/** This many compactions in a row without gain, and the session says that it cannot go on. */
export const MAX_IDLE_COMPACTIONS = 2;

/** The entries of a session that has done nothing yet. */
export function createLedger(): Ledger {
  const entries: LedgerEntry[] = [];
  let idleCompactions = 0;
  return {
    enter(entry) {
      entries.push(entry);
      if (entry.outcome === "applied" || entry.outcome === "undone") idleCompactions = 0;
      else if (entry.step === "compact" && entry.outcome === "nothing") idleCompactions++;
    },
    entries: () => [...entries],
    idleCompactions: () => idleCompactions,
    endIdleCompactions() {
      idleCompactions = 0;
    },
  };
}
