import { COOL_DOWN_TURNS } from "../compaction/trigger/should-compact.ts";

/**
 * A compaction that is due and does not happen yet. After a failed summary the window stays in force while it
 * fits; the model is asked again after some turns, twice as many after every further failure, and when the window no
 * longer fits. After a veto the hooks are asked again once, when it no longer fits. A person who compacts by hand, a
 * refused request, another model, and a window that was emptied by other means start anew.
 */
export type HeldCompaction =
  | { readonly reason: "summary-failed"; readonly failures: number; readonly throughTurn: number }
  | { readonly reason: "vetoed"; readonly fitted: boolean };

/** True while the compaction has to wait. */
export function isHeld(held: HeldCompaction | undefined, { turn, fits }: HoldMoment): boolean {
  if (held === undefined) return false;
  if (held.reason === "vetoed") return fits || !held.fitted;
  return fits && turn <= held.throughTurn;
}

/** What is held after a compaction that did not happen; undefined when it failed for another reason. */
export function holdAfter(
  reason: string,
  { before, turn, fits }: HoldMoment & { readonly before: HeldCompaction | undefined },
): HeldCompaction | undefined {
  if (reason === "vetoed") return { reason, fitted: fits };
  if (reason !== "summary-failed") return undefined;
  const failures = before?.reason === "summary-failed" ? before.failures + 1 : 1;
  const waitTurns = COOL_DOWN_TURNS * 2 ** Math.min(failures - 1, MAX_DOUBLINGS);
  return { reason, failures, throughTurn: turn + waitTurns };
}

interface HoldMoment {
  /** The number of answers so far. */
  readonly turn: number;
  /** The model still takes the window. */
  readonly fits: boolean;
}

/** A model that is down for hours is asked every 48 turns. */
const MAX_DOUBLINGS = 4;
