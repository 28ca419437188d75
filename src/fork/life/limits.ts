import { numberAbove, numberFrom, oneOf, type Shape, wholeFrom } from "../../text/check.ts";
import type { Attempts } from "./record.ts";

/** The limits of checked options, with times in milliseconds. */
export function forkLimits({ timeoutMin, graceS, askTimeoutS, ...counts }: ForkLimitOptions): ForkLimits {
  return {
    ...counts,
    timeoutMs: timeoutMin * 60_000,
    graceMs: graceS * 1_000,
    askTimeoutMs: askTimeoutS * 1_000,
  };
}

/** What forks may use, as a person writes it. */
export interface ForkLimitOptions {
  /** Forks that run at once. */
  readonly maxRunning: number;
  /** Forks that wait for a slot. */
  readonly maxQueued: number;
  /** Forks that one root session may ever start. */
  readonly maxPerRoot: number;
  /** How long a run may take before it is asked to report. */
  readonly timeoutMin: number;
  /** From "report now" to the abort. */
  readonly graceS: number;
  /** Tool calls of one run before it is asked to report. */
  readonly maxToolCalls: number;
  /** The same call so often in a row is a loop. */
  readonly repeatLimit: number;
  /** What one fork may cost. */
  readonly forkUSD: number;
  /** What all forks of a root session may cost together. */
  readonly rootUSD: number;
  /** Whether forks continue when the user stops the parent. */
  readonly onParentAbort: "keep" | "cancel";
  /** Whether a run that a restart interrupted is reported or resumed. */
  readonly onRestart: "report" | "resume";
  /** How long a permission ask waits for a person; 0 where there is none. */
  readonly askTimeoutS: number;
}

/** The same with every time in milliseconds. */
export interface ForkLimits extends Omit<ForkLimitOptions, "timeoutMin" | "graceS" | "askTimeoutS"> {
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly askTimeoutMs: number;
}

/** The limits that hold when nothing is configured. */
export const FORK_LIMIT_DEFAULTS: ForkLimitOptions = {
  maxRunning: 4,
  maxQueued: 16,
  maxPerRoot: 40,
  timeoutMin: 20,
  graceS: 90,
  maxToolCalls: 200,
  repeatLimit: 5,
  forkUSD: 2,
  rootUSD: 10,
  onParentAbort: "keep",
  onRestart: "report",
  askTimeoutS: 300,
};

/** What each limit may be. */
export const FORK_LIMIT_SHAPE: Shape<ForkLimitOptions> = {
  maxRunning: wholeFrom(1),
  maxQueued: wholeFrom(0),
  maxPerRoot: wholeFrom(1),
  timeoutMin: numberAbove(0),
  graceS: numberFrom(0),
  maxToolCalls: wholeFrom(1),
  repeatLimit: wholeFrom(2),
  forkUSD: numberAbove(0),
  rootUSD: numberAbove(0),
  onParentAbort: oneOf("keep", "cancel"),
  onRestart: oneOf("report", "resume"),
  askTimeoutS: numberFrom(0),
};

/** Between two checks of a child's status, and before an action is requested again. */
export const WATCH_MS = 30_000;
/** How often an action is requested. */
export const MAX_ATTEMPTS = 3;

/** Counts one attempt more. */
export function countAttempt(attempts: Attempts | undefined, atMs: number): Attempts {
  return { count: (attempts?.count ?? 0) + 1, lastAtMs: atMs };
}

/** True when it was never tried, or so long ago that its answer must be lost. */
export function isDueAgain(attempts: Attempts | undefined, atMs: number): boolean {
  return attempts === undefined || isOverdue({ sinceMs: attempts.lastAtMs, waitMs: WATCH_MS }, atMs);
}

/**
 * True when a wait is over. A start that is well ahead of now counts as over too: the clock was set back, and the
 * wait would take until it has caught up.
 */
export function isOverdue({ sinceMs, waitMs }: Wait, nowMs: number): boolean {
  return nowMs >= sinceMs + waitMs || sinceMs > nowMs + MAX_AHEAD_MS;
}

export interface Wait {
  readonly sinceMs: number;
  readonly waitMs: number;
}

/** Events out of order differ by less. */
const MAX_AHEAD_MS = 60_000;
