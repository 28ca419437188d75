import type { Attempts } from "./record.ts";

/** What forks may use, as the engine counts it. */
export interface ForkLimits {
  /** Forks that run at once. */
  readonly maxRunning: number;
  readonly maxQueued: number;
  /** Forks that one root session may ever start. */
  readonly maxPerRoot: number;
  readonly timeoutMs: number;
  /** From "report now" to the abort. */
  readonly graceMs: number;
  readonly maxToolCalls: number;
  /** The same call so often in a row is a loop. */
  readonly repeatLimit: number;
  readonly forkUSD: number;
  readonly rootUSD: number;
  readonly onParentAbort: "keep" | "cancel";
  readonly onRestart: "report" | "resume";
  /** How long a permission ask waits for a person; 0 where there is none. */
  readonly askTimeoutMs: number;
}

/** The limits that hold when nothing is configured. */
export const DEFAULT_FORK_LIMITS: ForkLimits = {
  maxRunning: 4,
  maxQueued: 16,
  maxPerRoot: 40,
  timeoutMs: 20 * 60_000,
  graceMs: 90_000,
  maxToolCalls: 200,
  repeatLimit: 5,
  forkUSD: 2,
  rootUSD: 10,
  onParentAbort: "keep",
  onRestart: "report",
  askTimeoutMs: 300_000,
};

/** Limits from the options that a person writes (`timeoutMin`, `graceS`, `askTimeoutS`, …), or every problem at once; an unknown key is a problem. */
export function readForkLimits(options: unknown): ForkLimitsResult {
  if (options === undefined) return { status: "valid", limits: DEFAULT_FORK_LIMITS };
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    return { status: "invalid", problems: ["the limits must be an object"] };
  }
  const problems: string[] = [];
  const given: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const rule = Object.hasOwn(RULES, key) ? RULES[key] : undefined;
    if (rule === undefined) problems.push(`${key} is unknown; known are ${FORK_LIMIT_OPTIONS.join(", ")}`);
    else if (!rule.allows(value)) problems.push(`${key} must be ${rule.must}, not ${show(value)}`);
    else given[rule.limit ?? key] = typeof value === "number" ? value * (rule.factor ?? 1) : value;
  }
  if (problems.length > 0) return { status: "invalid", problems };
  return { status: "valid", limits: { ...DEFAULT_FORK_LIMITS, ...given } };
}

type ForkLimitsResult =
  | { readonly status: "valid"; readonly limits: ForkLimits }
  | { readonly status: "invalid"; readonly problems: readonly string[] };

interface Rule {
  readonly must: string;
  readonly allows: (value: unknown) => boolean;
  /** The limit it sets, where it has another name. */
  readonly limit?: keyof ForkLimits;
  readonly factor?: number;
}

function wholeFrom(least: number): Rule {
  return {
    must: `a whole number of ${least} or more`,
    allows: (value) => Number.isSafeInteger(value) && (value as number) >= least,
  };
}

function above(least: number, rest: Pick<Rule, "limit" | "factor"> = {}): Rule {
  return {
    must: `a number above ${least}`,
    allows: (value) => typeof value === "number" && Number.isFinite(value) && value > least,
    ...rest,
  };
}

function fromZero(rest: Pick<Rule, "limit" | "factor">): Rule {
  return {
    must: "a number of 0 or more",
    allows: (value) => typeof value === "number" && Number.isFinite(value) && value >= 0,
    ...rest,
  };
}

function oneOf(...words: readonly string[]): Rule {
  return {
    must: `one of ${words.join(", ")}`,
    allows: (value) => words.some((word) => word === value),
  };
}

const RULES: Readonly<Record<string, Rule>> = {
  maxRunning: wholeFrom(1),
  maxQueued: wholeFrom(0),
  maxPerRoot: wholeFrom(1),
  timeoutMin: above(0, { limit: "timeoutMs", factor: 60_000 }),
  graceS: fromZero({ limit: "graceMs", factor: 1_000 }),
  maxToolCalls: wholeFrom(1),
  repeatLimit: wholeFrom(2),
  forkUSD: above(0),
  rootUSD: above(0),
  onParentAbort: oneOf("keep", "cancel"),
  onRestart: oneOf("report", "resume"),
  askTimeoutS: fromZero({ limit: "askTimeoutMs", factor: 1_000 }),
};

/** The names of the options that `readForkLimits` reads. */
export const FORK_LIMIT_OPTIONS: readonly string[] = Object.keys(RULES);

function show(value: unknown): string {
  if (typeof value === "string") return `"${value.slice(0, 40)}"`;
  return typeof value === "object" ? "an object" : String(value);
}

/** Between two looks at a child's status, and before a host is asked for the same thing again. */
export const WATCH_MS = 30_000;
/** How often a host is asked for the same thing. */
export const MAX_ATTEMPTS = 3;

/** Counts one attempt more. */
export function countAttempt(attempts: Attempts | undefined, atMs: number): Attempts {
  return { count: (attempts?.count ?? 0) + 1, lastAtMs: atMs };
}

/** True when it was never tried, or so long ago that the answer must be lost. */
export function isDueAgain(attempts: Attempts | undefined, atMs: number): boolean {
  return attempts === undefined || isOverdue({ sinceMs: attempts.lastAtMs, waitMs: WATCH_MS }, atMs);
}

/**
 * True when so long has passed since something happened. What lies well ahead counts as long past: only a clock that
 * was set back can bring that about, and nobody may wait for it to catch up.
 */
export function isOverdue({ sinceMs, waitMs }: Wait, nowMs: number): boolean {
  return nowMs >= sinceMs + waitMs || sinceMs > nowMs + MAX_AHEAD_MS;
}

export interface Wait {
  readonly sinceMs: number;
  readonly waitMs: number;
}

/** Events that come out of order differ by less. */
const MAX_AHEAD_MS = 60_000;
