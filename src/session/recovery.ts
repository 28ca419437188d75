import type { ProviderErrorReport } from "../compaction/provider-errors/classify-provider-error.ts";
import { dropMedia, planRecovery, type RecoveryRequest, type RecoveryStep } from "../compaction/recover.ts";
import { redactSecrets } from "../text/secrets/redact-secrets.ts";
import { type Edit, hideMessage } from "../transcript/edit.ts";
import type { ContextEstimate } from "../transcript/estimate-context.ts";
import { isVisibleToModel, type Message, type Transcript } from "../transcript/message.ts";
import type { GiveUp, GiveUpReason, SessionAction } from "./action.ts";

/** Compactions by a model for one refused request, until the model answers again. */
export const maxCompactionRecoveries = 1;

/** The state of a refused request, kept until the model answers or the user sends another request. */
export interface RecoveryState {
  /** The provider's first error, which the caller gets in the end. */
  readonly error: unknown;
  /** About the newest refusal. */
  readonly report: ProviderErrorReport;
  readonly refusals: number;
  readonly phase: RecoveryPhase;
  readonly tried: readonly RecoveryStep[];
  readonly media: "all-there" | "oldest-dropped" | "all-dropped";
  readonly output: "as-asked" | "lowered";
  /** Whether anything was done about the newest refusal; the same request is never sent twice. */
  readonly window: "as-refused" | "smaller";
  /** What the upper bound of the estimate has to come down to. */
  readonly limitTokens: number;
}

/** `climb`: the retry steps; `retry`: it fits now, the caller sends again. */
type RecoveryPhase =
  | { readonly type: "lower-output"; readonly maxOutputTokens: number }
  | { readonly type: "drop-media"; readonly which: "oldest" | "all" }
  | { readonly type: "climb" }
  | { readonly type: "retry" }
  | { readonly type: "give-up"; readonly reason: GiveUpReason };

/** The state after a refusal; unchanged when a smaller request would not help. */
export function afterRefusal(before: RecoveryState | undefined, refusal: Refusal): RecoveryState | undefined {
  const { report, error } = refusal;
  // Thoughts are left out without making the request smaller.
  if (report.recovery === "none" || report.recovery === "leave-out-thoughts") return before;
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
        return takeNextStep(state, refusal);
      return { ...state, output: "lowered", phase: { type: "lower-output", maxOutputTokens } };
    }
    case "compact":
      return takeNextStep(state, refusal);
    default:
      report.recovery satisfies never;
      return state;
  }
}

/** A request that the provider refused. */
export interface Refusal {
  readonly error: unknown;
  readonly report: ProviderErrorReport;
  /** The window that was refused. */
  readonly estimate: ContextEstimate;
  /** What a window may have; Infinity when unknown. */
  readonly limitTokens: number;
  /** The model's whole window as it is known now; 0 when unknown. */
  readonly windowTokens: number;
  /** `off`: the user wants no automatic compaction, so nothing is done about a refusal either. */
  readonly auto: "on" | "off";
}

/** The state after a step of the recovery was taken, or turned out to change nothing. */
export function afterStep(
  state: RecoveryState,
  step: RecoveryStep | "failed-attempt" | "drop-media" | "use-backup-summary",
  outcome: "applied" | "nothing" = "applied",
): RecoveryState {
  const smaller: RecoveryState = outcome === "applied" ? { ...state, window: "smaller" } : state;
  if (step === "failed-attempt" || step === "use-backup-summary") return smaller;
  if (step !== "drop-media") return { ...smaller, tried: [...state.tried, step] };
  const isAll = state.phase.type === "drop-media" && state.phase.which === "all";
  return { ...smaller, media: isAll ? "all-dropped" : "oldest-dropped", phase: { type: "retry" } };
}

/** An answer shorter than this is not worth asking for. */
const MIN_OUTPUT_TOKENS = 256;
const MIN_LIMIT_TOKENS = 100;
/** By how much a window shrinks that was refused although it should have fitted. */
const SHRINK_SHARE = 0.7;
/** By how much the limit shrinks at each further refusal of the same request. */
const FURTHER_SHRINK_SHARE = 0.5;

function withoutMedia(state: RecoveryState): RecoveryState {
  if (state.media === "all-dropped") return { ...state, phase: { type: "give-up", reason: "still-refused" } };
  const which = state.media === "all-there" ? "oldest" : "all";
  return { ...state, phase: { type: "drop-media", which } };
}

/** The last two steps cut to a limit, so they are taken again at a lower one until nothing gets smaller. */
function takeNextStep(state: RecoveryState, refusal: Refusal): RecoveryState {
  const tried = state.tried.filter((step) => step !== "cut-oversized" && step !== "last-request");
  return { ...state, tried, phase: { type: "climb" }, limitTokens: recoveryLimit(state, refusal) };
}

/** The limit in our own tokens: by what the provider counted and named, and below what it has just refused. */
function recoveryLimit(
  { limitTokens: earlierTokens, refusals }: RecoveryState,
  { report, estimate, limitTokens }: Refusal,
): number {
  const knownTokens = Math.min(
    refusals > 1 ? earlierTokens * FURTHER_SHRINK_SHARE : earlierTokens,
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

/** What a refused request needs next, from the state of its recovery and the transcript alone. */
export function nextRecoveryAction(state: RecoveryState, situation: RecoverySituation): SessionAction {
  const { transcript, version } = situation;
  const { phase } = state;
  if (phase.type === "give-up") return giveUp(state, phase.reason);
  if (phase.type === "retry") return { type: "retry" };
  const failed = hideFailedAttempt(transcript);
  if (failed.length > 0) return { type: "recover", version, step: "failed-attempt", edits: failed };
  if (phase.type === "lower-output") return { type: "lower-output", maxOutputTokens: phase.maxOutputTokens };
  if (phase.type === "drop-media") {
    const edits = dropMedia(transcript, phase.which);
    if (edits.length > 0) return { type: "recover", version, step: "drop-media", edits };
    return giveUp(state, "no-media");
  }
  // A block that nobody can look into cannot be made smaller, and nothing before it counts.
  const backup = situation.backup();
  if (backup.length > 0) return { type: "recover", version, step: "use-backup-summary", edits: backup };
  const plan = planRecovery(transcript, {
    ...situation.recovery,
    limitTokens: state.limitTokens,
    tried: state.tried,
  });
  switch (plan.status) {
    case "fits":
      return state.window === "smaller" ? { type: "retry" } : giveUp(state, "still-refused");
    case "compact":
      return { type: "recover", version, step: "compact" };
    case "step":
      return { type: "recover", version, step: plan.step, edits: plan.edits };
    case "exhausted":
      // By our estimate it does not fit; that is for the provider to say.
      if (state.window === "smaller") return { type: "retry" };
      return giveUp(state, state.refusals > 1 ? "still-refused" : "does-not-fit");
    default:
      plan satisfies never;
      return { type: "retry" };
  }
}

interface RecoverySituation {
  readonly transcript: Transcript;
  readonly version: number;
  /** The edits that put our backup summary in place of a provider's own compaction; empty without one. */
  readonly backup: () => readonly Edit[];
  readonly recovery: Omit<RecoveryRequest, "limitTokens" | "tried">;
}

function giveUp(state: RecoveryState, reason: GiveUpReason): GiveUp {
  const said = redactSecrets(state.report.message);
  const tried = state.tried.length === 0 ? "" : ` Tried: ${state.tried.join(", ")}.`;
  return {
    type: "give-up",
    reason,
    message: `${ADVICE[reason]}${tried}${said === "" ? "" : ` The provider said: ${said}`}`,
    error: state.error,
  };
}

const ADVICE: Readonly<Record<GiveUpReason, string>> = {
  "does-not-fit":
    "The request does not fit even with nothing but the last message in it: the system prompt and the tool definitions take all the room. Remove tools or use a model with a larger window.",
  "still-refused":
    "The provider refuses the request although it was made smaller. Start a new session, shorten the last message, or use a model with a larger window.",
  "auto-off":
    "The request is too large for the model, and automatic compaction is off. Compact by hand, switch it on, or start a new session.",
  "rate-limit-size":
    "The request is larger than the rate limit allows at all, so waiting does not help. Use a smaller context or a higher limit.",
  "no-media":
    "The request has too many bytes, and there are no media left to take out. Shorten long outputs or start a new session.",
};

/** Hides what a failed attempt left at the end of the window. What a tool has done there stays: it must not be done twice. */
function hideFailedAttempt(window: Transcript): readonly Edit[] {
  const edits: Edit[] = [];
  for (const message of window.toReversed()) {
    if (!isVisibleToModel(message)) continue;
    if (!isBroken(message)) break;
    if (message.parts.some((part) => part.type === "tool" && part.outcome.status !== "pending")) break;
    edits.push(hideMessage(message, { stage: "recover-failed-attempt", reason: "failed-turn" }));
  }
  return edits.reverse();
}

function isBroken({ role, error, unfinished, summary }: Message): boolean {
  return role === "assistant" && summary !== true && (error !== undefined || unfinished === true);
}
