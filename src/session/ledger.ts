import type { Usage } from "../transcript/message.ts";
import { addUsage } from "./metered-summarizer.ts";

/** What one step of a session gained. */
export interface LedgerEntry {
  readonly step: string;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly outcome: "applied" | "nothing" | "failed" | "aborted" | "undone";
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Set when the step was done without the model because that failed. */
  readonly degraded?: true;
  readonly note?: string;
  /** What the calls of the summarizer used since the entry before. */
  readonly summaryUsage?: Usage;
  /** Thoughts of the model that were sent before the step, and not after it. */
  readonly thoughtsLost?: number;
  /** How many steps this entry stands for; unset for one. */
  readonly steps?: number;
}

/** The ledger with one more entry; when there are twice as many as are kept, the older half becomes one. */
export function enterStep(ledger: readonly LedgerEntry[], entry: LedgerEntry): readonly LedgerEntry[] {
  const longer = [...ledger, entry];
  return longer.length > 2 * LEDGER_ENTRIES ? foldLedger(longer, LEDGER_ENTRIES) : longer;
}

/** The newest steps that a ledger has at least, one by one. */
const LEDGER_ENTRIES = 100;

/** The newest entries, and one that sums up those before them, so that what was used stays counted. */
export function foldLedger(ledger: readonly LedgerEntry[], keep: number): readonly LedgerEntry[] {
  const older = ledger.slice(0, -keep);
  const [first] = older;
  const last = older.at(-1);
  if (first === undefined || last === undefined || older.length < 2) return ledger;
  const summaryUsage = older.reduce<Usage | undefined>(
    (sum, { summaryUsage: used }) => (used === undefined ? sum : addUsage(sum, used)),
    undefined,
  );
  const thoughtsLost = older.reduce((sum, { thoughtsLost: lost = 0 }) => sum + lost, 0);
  const earlier: LedgerEntry = {
    step: "earlier",
    reason: "folded",
    at: last.at,
    outcome: "applied",
    tokensBefore: first.tokensBefore,
    tokensAfter: last.tokensAfter,
    steps: older.reduce((count, { steps = 1 }) => count + steps, 0),
    ...(summaryUsage && { summaryUsage }),
    ...(thoughtsLost > 0 && { thoughtsLost }),
  };
  return [earlier, ...ledger.slice(-keep)];
}
