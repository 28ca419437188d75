import { applyEdits, type Edit } from "../transcript/edit.ts";
import { isVisibleToModel, type MessageId, type Transcript } from "../transcript/message.ts";
import {
  askHooks,
  type HookStrikes,
  type HooksAnswer,
  type SessionHook,
  type SessionHookFailure,
} from "./ask-hooks.ts";
import { askSummarizer, type DegradedReason } from "./ask-summarizer.ts";
import {
  cancelEdits,
  carriedShares,
  compactionEdits,
  missingContent,
  type SummaryResult,
} from "./plan/edits.ts";
import {
  type CompactionPlan,
  type CompactionTrigger,
  contextTokens,
  type NothingToCompact,
} from "./plan/plan-compaction.ts";
import { readWindow } from "./plan/window.ts";
import { callListener } from "./ports/call-within.ts";
import type { Clock, Summarizer } from "./ports/summarizer.ts";
import { type CompactionProgress, createProgress } from "./progress.ts";
import { localSummary } from "./summary/local-summary.ts";
import { NO_CHANGES } from "./summary/request.ts";
import { createTextCleaner, errorText } from "./summary/text.ts";

/**
 * Carries out a plan of `planCompaction`: asks the hooks, asks the summarizer at most twice, summarizes without a model
 * or leaves everything as it is where that fails, and checks that the result is smaller and lost nothing that must
 * stay. Returns edits and changes nothing; always resolves, in bounded time, whatever the ports do.
 *
 * When a compaction is due is decided in `trigger/`, what it replaces and keeps in `plan/`, what the model is asked and
 * what is carried along in `summary/`. `tool-summaries/` shortens old tool results between compactions, and
 * `recover.ts` brings down a window that the provider refused (`provider-errors/`).
 */
export async function compact(
  plan: CompactionPlan | NothingToCompact,
  ports: CompactPorts,
  options: CompactOptions,
): Promise<CompactOutcome> {
  const { tokensBefore, transcript } = plan;
  const report: Mutable<CompactReport> = {
    tokensBefore,
    calls: 0,
    hookFailures: [],
    hookStrikes: options.hookStrikes ?? {},
  };
  const unchanged = (why: Unchanged): NotCompacted => ({
    ...why,
    edits: cancelEdits(plan, why),
    ...report,
  });
  if (plan.status === "nothing") return unchanged({ status: "unchanged", reason: plan.reason });
  if (running.has(transcript)) return unchanged({ status: "unchanged", reason: "already-running" });
  running.add(transcript);
  const before = readWindow(transcript).shown.length;
  const about = { trigger: plan.trigger, auto: plan.trigger !== "manual", before, tokensBefore };
  emit(options, { type: "compaction_start", ...about });
  const result = await runPlan(plan, ports, { options, report }).catch(
    (error: unknown): Unchanged => ({ status: "unchanged", reason: "failed", detail: errorText(error) }),
  );
  running.delete(transcript);
  const outcome = result.status === "unchanged" ? unchanged(result) : { ...result, ...report };
  const failure = failureOf(outcome);
  if (failure !== undefined)
    emit(options, { type: "compaction.failed", ...about, ...failure, calls: report.calls });
  const end =
    outcome.status === "unchanged"
      ? { after: before, tokensAfter: tokensBefore, error: outcome.reason }
      : {
          after: outcome.messages.filter(isVisibleToModel).length,
          tokensAfter: outcome.tokensAfter,
          ...(outcome.degraded && { degraded: outcome.degraded }),
        };
  emit(options, { type: "compaction_end", ...about, ...end });
  return outcome;
}

/** What a compaction needs from the world. */
export interface CompactPorts {
  /** Without one the summary without a model is used. */
  readonly summarizer?: Summarizer;
  /** Bounds the time of hooks and of the summarizer. */
  readonly clock: Clock;
}

/** How one compaction is run. */
export interface CompactOptions {
  /** Milliseconds since 1970, for what the edits insert. */
  readonly at: number;
  /** Ends the compaction and leaves the transcript as it is. @default none */
  readonly signal?: AbortSignal;
  /** Called at the start, as it goes on, and at the end; what it throws is ignored. @default none */
  readonly onEvent?: (event: CompactionEvent) => void;
  /**
   * What is done when no summary of the model can be used: `local` (the default) summarizes without a model, `keep`
   * leaves everything as it is. A session keeps its window while that fits.
   * @default local
   */
  readonly afterFailure?: "local" | "keep";
  /** Extensions that are asked before and after. @default none */
  readonly hooks?: readonly SessionHook[];
  /** As the last compaction of this session gave them. @default none */
  readonly hookStrikes?: HookStrikes;
}

/** Keeps a hook from compacting the transcript that is being compacted. */
const running = new WeakSet<Transcript>();

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Unchanged = Pick<NotCompacted, "status" | "reason" | "why" | "detail">;

async function runPlan(
  plan: CompactionPlan,
  { summarizer, clock }: CompactPorts,
  { options, report }: { readonly options: CompactOptions; readonly report: Mutable<CompactReport> },
): Promise<Omit<Compacted, keyof CompactReport> | Unchanged> {
  const { signal, hooks = [] } = options;
  const { trigger, representation, tokensBefore } = plan;
  const progress = createProgress(
    { trigger, auto: trigger !== "manual" },
    { clock, emit: (event) => emit(options, event) },
  );
  const facts = { trigger, representation, tokensBefore };
  const ask = async (method: "compacting" | "autocontinue"): Promise<HooksAnswer> => {
    const answer = await askHooks({ hooks, method, facts, strikes: report.hookStrikes, clock, signal });
    report.hookStrikes = answer.strikes;
    report.hookFailures = [...report.hookFailures, ...answer.failures];
    return answer;
  };

  progress.begin("hooks");
  const { vetoedBy, context, prompt } = await ask("compacting");
  if (signal?.aborted) return ABORTED;
  if (vetoedBy !== undefined) return { status: "unchanged", reason: "vetoed", detail: vetoedBy };

  // What hooks say goes to the model as clean as everything else.
  const { data } = createTextCleaner(plan.redaction);
  const changes = { ...NO_CHANGES, context: context.map(data), prompt: prompt && data(prompt) };
  const answer = await askSummarizer({ plan, summarizer, clock, signal, changes, progress });
  report.calls = answer.calls;
  if (answer.status === "aborted") return ABORTED;
  if (answer.status === "refused" && answer.reason !== "no-summarizer" && options.afterFailure === "keep") {
    const { reason: why, detail } = answer;
    return { status: "unchanged", reason: "summary-failed", why, ...(detail && { detail }) };
  }
  progress.begin("check");
  const isContinueRefused = plan.continuation === "append" && (await ask("autocontinue")).isContinueRefused;
  if (signal?.aborted) return ABORTED;

  const maxTokens = plan.material.maxSummaryTokens;
  const summary =
    answer.status === "accepted"
      ? answer.text
      : localSummary(plan.localSummaryMaterial, { maxTokens, estimator: plan.estimate.estimator });
  const settled = settleCompaction(
    plan,
    {
      prose: summary,
      degraded: answer.status === "refused",
      continuation: isContinueRefused ? "suppressed" : "append",
    },
    options.at,
  );
  const isFailed = answer.status === "refused" && answer.reason !== "no-summarizer";
  if (settled.status === "unchanged") return isFailed ? { ...settled, why: answer.reason } : settled;
  return {
    ...settled,
    summary,
    ...(answer.status === "refused" && {
      degraded: answer.reason,
      ...(answer.detail && { detail: answer.detail }),
    }),
    archivedIds: plan.replacedIds,
    ...(plan.firstKeptId !== undefined && { firstKeptId: plan.firstKeptId }),
  };
}

/** Why the model's summary is not in force, unless there is no model or that was not its fault. */
function failureOf(
  outcome: CompactOutcome,
): Pick<CompactionFailed, "reason" | "detail" | "window"> | undefined {
  const detail = outcome.detail === undefined ? {} : { detail: outcome.detail };
  if (outcome.status === "compacted") {
    const { degraded } = outcome;
    if (degraded === undefined || degraded === "no-summarizer") return undefined;
    return { reason: degraded, window: "local-summary", ...detail };
  }
  if (outcome.why !== undefined) return { reason: outcome.why, window: "kept", ...detail };
  return outcome.reason === "failed" ? { reason: "failed", window: "kept", ...detail } : undefined;
}

const ABORTED: Unchanged = { status: "unchanged", reason: "aborted" };

/** A listener that throws changes nothing: the outcome says everything that the event said. */
function emit({ onEvent }: CompactOptions, event: CompactionEvent): void {
  callListener(() => onEvent?.(event));
}

/**
 * The edits of a compaction, or why there are none: it saves too little, or loses what must stay. The facts that are
 * carried along are reduced step by step before a compaction is given up.
 */
export function settleCompaction(
  plan: CompactionPlan,
  summary: Omit<SummaryResult, "factsShare" | "wordsShare" | "pinsShare">,
  at: number,
): SettledCompaction {
  for (const shares of carriedShares(plan)) {
    const edits = compactionEdits(plan, { ...summary, ...shares });
    const messages = applyEdits(plan.transcript, edits, { at });
    const missing = missingContent(plan, { after: messages, pinsShare: shares.pinsShare });
    if (missing.length > 0) {
      return {
        status: "unchanged",
        reason: "lost-content",
        detail: `not before the model: ${missing.join(", ")}`,
      };
    }
    const tokensAfter = contextTokens(messages.filter(isVisibleToModel), plan.estimate);
    if (hasGained(plan, tokensAfter)) return { status: "compacted", edits, messages, tokensAfter };
  }
  return { status: "unchanged", reason: "no-gain" };
}

/** True where so little is left of the window that the compaction was worth it. */
export function hasGained({ tokensBefore, overheadTokens }: CompactionPlan, tokensAfter: number): boolean {
  return tokensAfter - overheadTokens <= (tokensBefore - overheadTokens) * MAX_TOKENS_SHARE;
}

export type SettledCompaction = Pick<Compacted, "status" | "edits" | "messages" | "tokensAfter"> | Unchanged;

/** The share of the tokens that may be left at most. */
const MAX_TOKENS_SHARE = 0.9;

/** The result of a compaction. Nothing has been changed yet: apply the edits. */
export type CompactOutcome = Compacted | NotCompacted;

/** A compaction that took place: its edits and what they lead to. */
export interface Compacted extends CompactReport {
  readonly status: "compacted";
  readonly edits: readonly Edit[];
  /** The transcript after the edits. */
  readonly messages: Transcript;
  /** The prose alone. */
  readonly summary: string;
  /** Why no model's summary was used; unset when one was. */
  readonly degraded?: DegradedReason;
  /** What the summarizer's error said, without secrets. */
  readonly detail?: string;
  /** The messages that the edits hide. */
  readonly archivedIds: readonly MessageId[];
  readonly firstKeptId?: MessageId;
  readonly tokensAfter: number;
}

/** A compaction that did not take place, and why. */
export interface NotCompacted extends CompactReport {
  readonly status: "unchanged";
  readonly reason: NotCompactedReason;
  /** What was wrong with the model's summary; unset when there was nothing wrong with it, or none. */
  readonly why?: DegradedReason;
  /** More about the reason, without secrets. */
  readonly detail?: string;
  /** Empty, or the edits that take back the marker that asked for this compaction. */
  readonly edits: readonly Edit[];
}

/** Reported either way. */
interface CompactReport {
  readonly tokensBefore: number;
  /** How often the summarizer was called. */
  readonly calls: number;
  readonly hookFailures: readonly SessionHookFailure[];
  /** To be passed to the next compaction of the session. */
  readonly hookStrikes: HookStrikes;
}

/**
 * `no-gain`: it would have saved less than a tenth; `lost-content`: a pin or the last request would have gone;
 * `already-running`: the same transcript is being compacted right now; `summary-failed`: no summary of the model could
 * be used, and one without a model was not wanted; `overtaken`: one in the background was no longer needed, or its
 * messages are gone; `failed`: a port broke its contract.
 */
export type NotCompactedReason =
  | NothingToCompact["reason"]
  | "vetoed"
  | "aborted"
  | "no-gain"
  | "lost-content"
  | "already-running"
  | "summary-failed"
  | "overtaken"
  | "failed";

/** Every start is followed by exactly one end, whatever happens in between; a failure is told before the end. */
export type CompactionEvent = CompactionStart | CompactionProgress | CompactionFailed | CompactionEnd;

/** A compaction begins. */
interface CompactionStart {
  readonly type: "compaction_start";
  /** Why it happens: `threshold`, `overflow`, `context_limit_recovery` or `manual`. */
  readonly trigger: CompactionTrigger;
  /** False when a person asked for it. */
  readonly auto: boolean;
  /** Messages that the model reads before; `after` counts them afterwards. */
  readonly before: number;
  /** The estimate of the window before. */
  readonly tokensBefore: number;
  /** Set when requests go on meanwhile: the end comes when it is put in force, or overtaken. */
  readonly background?: true;
}

/** No summary of the model could be used. */
export interface CompactionFailed extends Omit<CompactionStart, "type"> {
  readonly type: "compaction.failed";
  /** What was wrong with the last answer; `failed` when something else broke. */
  readonly reason: DegradedReason | "failed";
  /** What an error said, without secrets. */
  readonly detail?: string;
  /** How often the summarizer was called. */
  readonly calls: number;
  /** `kept`: everything stays as it was; `local-summary`: a summary without a model takes the place of the model's. */
  readonly window: "kept" | "local-summary";
}

/** A compaction has ended, with or without a change. */
export interface CompactionEnd extends Omit<CompactionStart, "type"> {
  readonly type: "compaction_end";
  /** Messages that the model reads now. */
  readonly after: number;
  /** The estimate of the window now. */
  readonly tokensAfter: number;
  /** Set when nothing was compacted. */
  readonly error?: NotCompactedReason;
  /** Set when the summary was made without the model, and why. */
  readonly degraded?: DegradedReason;
}
