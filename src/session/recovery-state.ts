import type { ProviderErrorReport } from "../compaction/classify-provider-error.ts";
import type { RecoveryRung } from "../compaction/recovery-ladder.ts";
import type { ContextEstimate } from "../transcript/estimate-context-tokens.ts";
import type { GiveUpReason } from "./session-action.ts";

/** Compactions by a model that a refused request may cost before the model has said something new. */
export const maxCompactionRecoveries = 1;

/** Where a refused request stands: kept until the model answers or the user asks for something else. */
export interface RecoveryState {
  /** What the provider said first; this is what reaches the caller in the end. */
  readonly error: unknown;
  /** About the newest refusal. */
  readonly report: ProviderErrorReport;
  readonly refusals: number;
  readonly phase: RecoveryPhase;
  readonly tried: readonly RecoveryRung[];
  readonly media: "all-there" | "oldest-dropped" | "all-dropped";
  readonly output: "as-asked" | "lowered";
  /** Whether anything was done about the newest refusal; the same request is never sent twice. */
  readonly window: "as-refused" | "smaller";
  /** What the upper bound of the estimate has to come down to. */
  readonly limitTokens: number;
}

/** `climb`: the ladder; `retry`: it fits now, the caller sends again. */
export type RecoveryPhase =
  | { readonly type: "lower-output"; readonly maxOutputTokens: number }
  | { readonly type: "drop-media"; readonly which: "oldest" | "all" }
  | { readonly type: "climb" }
  | { readonly type: "retry" }
  | { readonly type: "give-up"; readonly reason: GiveUpReason };

/** The state after a refusal; the same one when the error is none that a smaller request could cure. */
export function afterRefusal(before: RecoveryState | undefined, refusal: Refusal): RecoveryState | undefined {
  const { report, error } = refusal;
  if (report.recovery === "none") return before;
  const start: RecoveryState = before ?? {
    error,
    report,
    refusals: 0,
    phase: { type: "climb" },
    tried: [],
    media: "all-there",
    output: "as-asked",
    window: "as-refused",
    limitTokens: Number.POSITIVE_INFINITY,
  };
  const state: RecoveryState = { ...start, report, refusals: start.refusals + 1, window: "as-refused" };
  if (refusal.auto === "off") return { ...state, phase: { type: "give-up", reason: "auto-off" } };
  switch (report.recovery) {
    case "fit-rate-limit":
      return { ...state, phase: { type: "give-up", reason: "rate-limit-size" } };
    case "drop-media":
      return withoutMedia(state);
    case "lower-output": {
      const maxOutputTokens = roomForOutput(refusal);
      if (state.output === "lowered" || maxOutputTokens < MIN_OUTPUT_TOKENS)
        return onTheLadder(state, refusal);
      return { ...state, output: "lowered", phase: { type: "lower-output", maxOutputTokens } };
    }
    case "compact":
      return onTheLadder(state, refusal);
    default:
      report.recovery satisfies never;
      return state;
  }
}

export interface Refusal {
  readonly error: unknown;
  readonly report: ProviderErrorReport;
  /** The window that was refused. */
  readonly estimate: ContextEstimate;
  /** What a window may have; Infinity when nobody knows. */
  readonly limitTokens: number;
  /** The model's whole window as it is known now; 0 when nobody knows. */
  readonly windowTokens: number;
  /** `off`: the user wants no automatic compaction, so nothing is done about a refusal either. */
  readonly auto: "on" | "off";
}

/** The state after a step of the recovery was taken. */
export function afterStep(
  state: RecoveryState,
  step: RecoveryRung | "failed-attempt" | "drop-media",
): RecoveryState {
  const smaller: RecoveryState = { ...state, window: "smaller" };
  if (step === "failed-attempt") return smaller;
  if (step !== "drop-media") return { ...smaller, tried: [...state.tried, step] };
  const isAll = state.phase.type === "drop-media" && state.phase.which === "all";
  return { ...smaller, media: isAll ? "all-dropped" : "oldest-dropped", phase: { type: "retry" } };
}

/** An answer shorter than this is not worth asking for. */
const MIN_OUTPUT_TOKENS = 256;
const MIN_LIMIT_TOKENS = 100;
/** By how much a window shrinks that was refused although it should have fitted. */
const SHRINK_SHARE = 0.7;

function withoutMedia(state: RecoveryState): RecoveryState {
  if (state.media === "all-dropped") return { ...state, phase: { type: "give-up", reason: "still-refused" } };
  const which = state.media === "all-there" ? "oldest" : "all";
  return { ...state, phase: { type: "drop-media", which } };
}

function onTheLadder(state: RecoveryState, refusal: Refusal): RecoveryState {
  // One retry after a mechanical cut, then the user has to know.
  const last = state.tried.at(-1);
  const isCutAlready = last === "fold" || last === "cut-oversized" || last === "last-request";
  if (isCutAlready) return { ...state, phase: { type: "give-up", reason: "still-refused" } };
  return { ...state, phase: { type: "climb" }, limitTokens: targetOf(state, refusal) };
}

/** The limit in our own tokens: by what the provider counted and named, and below what it has just refused. */
function targetOf(
  { limitTokens: earlierTokens }: RecoveryState,
  { report, estimate, limitTokens }: Refusal,
): number {
  const knownTokens = Math.min(
    earlierTokens,
    limitTokens / countingFactor(report, estimate),
    namedTokens(report, estimate),
  );
  const isRefutedToo = estimate.high <= knownTokens;
  return Math.max(MIN_LIMIT_TOKENS, Math.floor(isRefutedToo ? estimate.high * SHRINK_SHARE : knownTokens));
}

/** How many tokens the provider counts for one of ours, where it counts more. */
function countingFactor({ observedTokens = 0 }: ProviderErrorReport, { tokens }: ContextEstimate): number {
  return tokens > 0 ? Math.min(MAX_FACTOR, Math.max(1, observedTokens / tokens)) : 1;
}

/** A larger difference is no difference in counting. */
const MAX_FACTOR = 4;

/** The limit that the error names, as a share of what was sent; believed for this request only. */
function namedTokens(report: ProviderErrorReport, { tokens }: ContextEstimate): number {
  const { observedTokens, limitTokens } = report;
  if (observedTokens === undefined || limitTokens === undefined) return Number.POSITIVE_INFINITY;
  const isPlausible = limitTokens >= MIN_NAMED_TOKENS && observedTokens > limitTokens;
  return isPlausible ? (tokens * limitTokens) / observedTokens : Number.POSITIVE_INFINITY;
}

/** Servers have named windows of 3 tokens. */
const MIN_NAMED_TOKENS = 1_000;

function roomForOutput({ report, estimate, windowTokens }: Refusal): number {
  const inputTokens = report.inputTokens ?? estimate.high;
  const room = (report.limitTokens ?? windowTokens) - inputTokens;
  return Math.floor(room * OUTPUT_SHARE);
}

/** What is left free below the window when the answer is made shorter. */
const OUTPUT_SHARE = 0.9;
