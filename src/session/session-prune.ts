import { KEEP_LINES_PROTECT_RESULTS, KEEP_LINES_PROTECTED_TOOLS } from "../stages/keep-lines.ts";
import { type PruneOptions, prune } from "../stages/prune.ts";
import { limitProblems } from "../stages/prune-guard.ts";
import { ConfigurationError } from "../text/configuration-error.ts";

/** How old work leaves the window without a model. */
export interface SessionPruneOptions extends PruneOptions {
  /**
   * `lines`: what is most likely needed next stays, by line. `clear`: old outputs are cleared as `prune` does it; the
   * default where `protectTokens` or `minimumTokens` is given, since only that has them.
   */
  readonly how?: "lines" | "clear";
  /** With `lines`: nothing goes before the messages are this large. Never more than six tenths of the model's limit. */
  readonly highTokens?: number;
  /** With `lines`: what they are brought down to, about. Never more than three tenths of the limit. */
  readonly lowTokens?: number;
  /** With `lines`: how many of the newest results stay whole. */
  readonly protectResults?: number;
}

/** The same with every default filled in. */
export type KnownPrune = ClearOutputs | LeaveLines;

export interface ClearOutputs {
  readonly how: "clear";
  readonly options: PruneOptions;
}

export interface LeaveLines extends Required<Pick<PruneOptions, "protectTurns" | "protectedTools">> {
  readonly how: "lines";
  readonly highTokens: number;
  readonly lowTokens: number;
  readonly protectResults: number;
  /** What is tried when lines alone do not spare a compaction. */
  readonly options: PruneOptions;
}

/** Completed options; what cannot be used is thrown, every problem at once. */
export function readSessionPrune(given: SessionPruneOptions = {}): KnownPrune {
  if (typeof given !== "object" || given === null)
    throw new ConfigurationError([`prune is ${String(given)}; give "off" or an object`]);
  const { how, highTokens = HIGH_TOKENS, lowTokens = LOW_TOKENS, protectResults, ...options } = given;
  const { protectTokens, minimumTokens, protectTurns = 0, protectedTools } = options;
  const problems = [
    ...Object.keys(given)
      .filter((key) => !KEYS.has(key))
      .map((key) => `${key} is unknown; known are ${[...KEYS].join(", ")}`),
    ...limitProblems({ highTokens, lowTokens, protectResults: protectResults ?? 0 }),
    ...(lowTokens > highTokens
      ? [`lowTokens is ${lowTokens} and highTokens ${highTokens}; give at most that`]
      : []),
    ...(how === undefined || how === "lines" || how === "clear"
      ? []
      : [`how is ${String(how)}; give "lines" or "clear"`]),
  ];
  if (problems.length > 0) throw new ConfigurationError(problems.map((problem) => `prune.${problem}`));
  prune([], options);
  const isCleared = protectTokens !== undefined || minimumTokens !== undefined;
  if ((how ?? (isCleared ? "clear" : "lines")) === "clear") return { how: "clear", options };
  return {
    how: "lines",
    highTokens,
    lowTokens,
    protectResults: protectResults ?? KEEP_LINES_PROTECT_RESULTS,
    protectTurns,
    protectedTools: protectedTools ?? KEEP_LINES_PROTECTED_TOOLS,
    options,
  };
}

const KEYS: ReadonlySet<string> = new Set<keyof SessionPruneOptions>([
  "how",
  "highTokens",
  "lowTokens",
  "protectResults",
  "protectTokens",
  "minimumTokens",
  "protectTurns",
  "protectedTools",
  "estimate",
]);

/** The marks of a window that takes no more than this. */
export function marksWithin(lines: LeaveLines, limitTokens: number): LeaveLines {
  return {
    ...lines,
    highTokens: Math.min(lines.highTokens, Math.floor(limitTokens * HIGH_SHARE)),
    lowTokens: Math.min(lines.lowTokens, Math.floor(limitTokens * LOW_SHARE)),
  };
}

/** Chosen on recorded sessions: `docs/decisions/0022-cost.md`. */
const HIGH_TOKENS = 24_000;
const LOW_TOKENS = 10_000;
const HIGH_SHARE = 0.6;
const LOW_SHARE = 0.3;
