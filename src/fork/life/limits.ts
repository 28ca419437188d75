import { gone, numberAbove, numberFrom, type Shape, wholeFrom, withDefault } from "../../text/check.ts";

/** The limits of checked options, with times in milliseconds; those that nobody sets follow from them, or are the same for all. */
export function forkLimits({
  maxRunning,
  timeoutMin,
  maxToolCalls,
  forkUSD,
  askTimeoutS,
}: ForkLimitOptions): ForkLimits {
  const timeoutMs = timeoutMin * 60_000;
  return {
    maxRunning,
    maxQueued: maxRunning * 4,
    maxPerRoot: 40,
    timeoutMs,
    graceMs: Math.min(timeoutMs, 90_000),
    maxToolCalls,
    repeatLimit: 5,
    forkUSD,
    rootUSD: forkUSD * 5,
    onParentAbort: "keep",
    onRestart: "report",
    askTimeoutMs: askTimeoutS * 1_000,
  };
}

/** What forks may use, as a person writes it. */
export interface ForkLimitOptions {
  /**
   * Forks that run at once; four times as many may wait, and one root session may start 40.
   * @default 4
   * @unit forks
   * @when the machine or the account takes more
   */
  readonly maxRunning: number;
  /** How long a run may take; then only its report is taken, for 90 seconds. @default 20 @when tasks take longer */
  readonly timeoutMin: number;
  /** Tool calls of one run; the next is refused. @default 200 @unit calls @when tasks need more steps */
  readonly maxToolCalls: number;
  /**
   * What one fork may cost; all forks of a root session may cost five times as much.
   * @default 2
   * @when a task may cost more
   */
  readonly forkUSD: number;
  /**
   * How long a permission ask waits for a person; 0 where there is none.
   * @default 300
   * @when nobody answers, or people take longer
   */
  readonly askTimeoutS: number;
}

/** Every limit of a fork, with times in milliseconds. */
export interface ForkLimits {
  readonly maxRunning: number;
  /** Forks that wait for a slot. */
  readonly maxQueued: number;
  /** Forks that one root session may ever start. */
  readonly maxPerRoot: number;
  readonly timeoutMs: number;
  /** How long the report at a limit may take before the run is stopped. */
  readonly graceMs: number;
  readonly maxToolCalls: number;
  /** The same call so often in a row is a loop. */
  readonly repeatLimit: number;
  readonly forkUSD: number;
  /** What all forks of a root session may cost together. */
  readonly rootUSD: number;
  /** Whether forks continue when the user stops the parent. */
  readonly onParentAbort: "keep" | "cancel";
  /** Whether a run that a restart interrupted is reported or resumed. */
  readonly onRestart: "report" | "resume";
  readonly askTimeoutMs: number;
}

/** What each limit may be, and what holds when nothing is configured. */
export const FORK_LIMIT_SHAPE: Shape<ForkLimitOptions, keyof ForkLimitOptions> = {
  ...gone({
    maxQueued: "leave it out: four times maxRunning wait",
    maxPerRoot: "leave it out: a root session starts at most 40",
    graceS: "leave it out: a report may take 90 seconds",
    repeatLimit: "leave it out: five times the same call is a loop",
    rootUSD: "give forkUSD, of which all forks of a session may use five times as much",
    onParentAbort: "leave it out: forks go on, and fork_cancel ends them",
    onRestart: "leave it out: what a restart interrupted is reported, and fork with resume goes on",
  }),
  maxRunning: withDefault(wholeFrom(1), 4),
  timeoutMin: withDefault(numberAbove(0), 20),
  maxToolCalls: withDefault(wholeFrom(1), 200),
  forkUSD: withDefault(numberAbove(0), 2),
  askTimeoutS: withDefault(numberFrom(0), 300),
};
