import { applyEdits, type Edit } from "../transcript/edit.ts";
import { isVisibleToModel, type MessageId, type Transcript } from "../transcript/message.ts";
import {
  askHooks,
  askSummarizer,
  type DegradedReason,
  type HookFailure,
  type HookStrikes,
  type HooksAnswer,
  type SessionHook,
} from "./ask.ts";
import {
  cancelMarkerEdits,
  compactionEdits,
  FACTS_SHARES,
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
import type { Clock } from "./ports/clock.ts";
import type { Summarizer } from "./ports/summarizer.ts";
import { foldSummary } from "./summary/message.ts";
import { NO_CHANGES, type RequestChanges } from "./summary/request.ts";
import { createTextCleaner, errorText } from "./summary/text.ts";

/**
 * Carries out a plan: asks the hooks, asks the summarizer at most twice, folds mechanically where that fails, and
 * checks the result. Gives edits and changes nothing; comes back in time with a value, whatever the ports do.
 */
export async function compact(
  plan: CompactionPlan | NothingToCompact,
  ports: CompactPorts,
  options: CompactOptions,
): Promise<CompactOutcome> {
  const state: RunState = { calls: 0, hookFailures: [], hookStrikes: options.hookStrikes ?? {} };
  if (plan.status === "nothing") return unchanged(plan, state, { reason: plan.reason });
  if (running.has(plan.transcript)) return unchanged(plan, state, { reason: "already-running" });
  running.add(plan.transcript);
  const before = readWindow(plan.transcript).shown.length;
  const about: EventBase = {
    trigger: plan.trigger,
    auto: plan.trigger !== "manual",
    before,
    tokensBefore: plan.tokensBefore,
  };
  emit(options, { type: "compaction_start", ...about });
  const outcome = await runPlan({ plan, ports, options, state }).catch((error: unknown) =>
    unchanged(plan, state, { reason: "failed", detail: errorText(error) }),
  );
  running.delete(plan.transcript);
  emit(options, { type: "compaction_end", ...about, ...endFields(outcome, about) });
  return outcome;
}

export interface CompactPorts {
  /** Without one the fold is used. */
  readonly summarizer?: Summarizer;
  readonly clock: Clock;
}

export interface CompactOptions {
  /** Milliseconds since 1970, for what the edits insert. */
  readonly at: number;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: CompactionEvent) => void;
  readonly sessionId?: string;
  readonly hooks?: readonly SessionHook[];
  /** As the last compaction of this session gave them. */
  readonly hookStrikes?: HookStrikes;
}

/** A hook that starts a compaction of what is being compacted must not get one. */
const running = new WeakSet<Transcript>();

/** What happened so far; the only thing that is written to. */
interface RunState {
  calls: number;
  hookFailures: readonly HookFailure[];
  hookStrikes: HookStrikes;
}

interface CompactRun {
  readonly plan: CompactionPlan;
  readonly ports: CompactPorts;
  readonly options: CompactOptions;
  readonly state: RunState;
}

async function runPlan(job: CompactRun): Promise<CompactOutcome> {
  const { plan, ports, options, state } = job;
  const { signal } = options;
  const hooks = await askAndRecordHooks(job, "compacting");
  if (signal?.aborted) return unchanged(plan, state, { reason: "aborted" });
  if (hooks.vetoedBy !== undefined)
    return unchanged(plan, state, { reason: "vetoed", detail: hooks.vetoedBy });

  const answer = await askSummarizer({
    plan,
    summarizer: ports.summarizer,
    clock: ports.clock,
    signal,
    changes: requestChanges(plan, hooks),
  });
  state.calls = answer.calls;
  if (answer.status === "aborted") return unchanged(plan, state, { reason: "aborted" });
  const goOn = plan.continuation === "append" ? await askAndRecordHooks(job, "autocontinue") : undefined;
  if (signal?.aborted) return unchanged(plan, state, { reason: "aborted" });
  const { maxSummaryTokens } = plan.material;
  const { estimator } = plan.estimate;
  const summary =
    answer.status === "accepted"
      ? answer.text
      : foldSummary(plan.foldMaterial, { maxTokens: maxSummaryTokens, ...(estimator && { estimator }) });
  const settled = settleCompaction(
    plan,
    {
      prose: summary,
      degraded: answer.status === "refused",
      continuation: goOn?.isContinueRefused ? "suppressed" : "append",
    },
    options.at,
  );
  if (settled.status === "unchanged") return unchanged(plan, state, settled);
  return {
    ...settled,
    ...report(plan, state),
    summary,
    ...(answer.status === "refused" && { degraded: answer.reason }),
    ...(answer.status === "refused" && answer.detail !== undefined && { detail: answer.detail }),
    archivedIds: plan.foldedIds,
    ...(plan.firstKeptId !== undefined && { firstKeptId: plan.firstKeptId }),
  };
}

/** What hooks say goes to the model as clean as everything else. */
function requestChanges({ redaction }: CompactionPlan, { context, prompt }: HooksAnswer): RequestChanges {
  const { data } = createTextCleaner(redaction);
  return {
    ...NO_CHANGES,
    context: context.map(data),
    prompt: prompt === undefined ? undefined : data(prompt),
  };
}

function endFields(outcome: CompactOutcome, { before, tokensBefore }: EventBase): EndFields {
  if (outcome.status === "unchanged")
    return { after: before, tokensAfter: tokensBefore, error: outcome.reason };
  const { messages, tokensAfter, degraded } = outcome;
  const after = messages.filter(isVisibleToModel).length;
  return { after, tokensAfter, ...(degraded !== undefined && { degraded }) };
}

type EventBase = Omit<CompactionStart, "type">;
type EndFields = Pick<CompactionEnd, "after" | "tokensAfter" | "error" | "degraded">;

async function askAndRecordHooks(
  { plan, ports, options, state }: CompactRun,
  method: "compacting" | "autocontinue",
): Promise<HooksAnswer> {
  const { hooks = [], sessionId, signal } = options;
  const answer = await askHooks({
    hooks,
    method,
    facts: {
      ...(sessionId !== undefined && { sessionId }),
      trigger: plan.trigger,
      representation: plan.representation,
      tokensBefore: plan.tokensBefore,
    },
    strikes: state.hookStrikes,
    clock: ports.clock,
    signal,
  });
  state.hookStrikes = answer.strikes;
  state.hookFailures = [...state.hookFailures, ...answer.failures];
  return answer;
}

function unchanged(
  plan: CompactionPlan | NothingToCompact,
  state: RunState,
  why: Pick<NotCompacted, "reason" | "detail">,
): NotCompacted {
  return {
    status: "unchanged",
    reason: why.reason,
    ...(why.detail !== undefined && { detail: why.detail }),
    edits: editsWhenUnchanged(plan, why),
    ...report(plan, state),
  };
}

function report({ tokensBefore }: CompactionPlan | NothingToCompact, state: RunState): CompactReport {
  return { tokensBefore, ...state };
}

/** A listener that throws is its own problem; the events stay balanced. */
function emit({ onEvent }: CompactOptions, event: CompactionEvent): void {
  try {
    onEvent?.(event);
  } catch {
    // Nothing to do: the outcome says everything that the event said.
  }
}

/** The edits of a compaction that stands, or why it does not: it gains too little, or loses what must stay. */
export function settleCompaction(
  plan: CompactionPlan,
  summary: Omit<SummaryResult, "factsShare">,
  at: number,
): SettledCompaction {
  for (const factsShare of FACTS_SHARES) {
    const edits = compactionEdits(plan, { ...summary, factsShare });
    const messages = applyEdits(plan.transcript, edits, { at });
    const missing = missingContent(plan, messages);
    if (missing.length > 0) {
      return {
        status: "unchanged",
        reason: "lost-content",
        detail: `not before the model: ${missing.join(", ")}`,
      };
    }
    const tokensAfter = contextTokens(messages.filter(isVisibleToModel), plan.estimate);
    if (tokensAfter <= plan.tokensBefore * MAX_TOKENS_SHARE) {
      return { status: "compacted", edits, messages, tokensAfter };
    }
  }
  return { status: "unchanged", reason: "no-gain" };
}

export type SettledCompaction =
  | ({ readonly status: "compacted" } & Pick<Compacted, "edits" | "messages" | "tokensAfter">)
  | ({ readonly status: "unchanged" } & Pick<NotCompacted, "reason" | "detail">);

/** The most that may be left for a compaction to stand. */
const MAX_TOKENS_SHARE = 0.9;

/** What to do about a plan that was not carried out: its marker no longer waits. An abort leaves everything as it was. */
function editsWhenUnchanged(
  plan: CompactionPlan | NothingToCompact,
  { reason, detail = reason }: Pick<NotCompacted, "reason" | "detail">,
): NotCompacted["edits"] {
  if (reason === "aborted" || reason === "already-running") return [];
  const isFailure = plan.status === "planned" && reason !== "vetoed";
  return cancelMarkerEdits(
    plan,
    isFailure ? { name: reason, text: detail, id: plan.ids.summary } : { name: reason },
  );
}

/** What came of a compaction. Nothing has been changed yet: the edits are what to do about it. */
export type CompactOutcome = Compacted | NotCompacted;

export interface Compacted extends CompactReport {
  readonly status: "compacted";
  readonly edits: readonly Edit[];
  /** The transcript after the edits. */
  readonly messages: Transcript;
  /** The prose alone. */
  readonly summary: string;
  /** Set when no model's summary was used: why. */
  readonly degraded?: DegradedReason;
  /** What the summarizer's error said, without secrets. */
  readonly detail?: string;
  /** What is hidden now. */
  readonly archivedIds: readonly MessageId[];
  readonly firstKeptId?: MessageId;
  readonly tokensAfter: number;
}

export interface NotCompacted extends CompactReport {
  readonly status: "unchanged";
  readonly reason: NotCompactedReason;
  /** More about the reason, without secrets. */
  readonly detail?: string;
  /** Empty, or what takes a marker back that was waiting for this compaction. */
  readonly edits: readonly Edit[];
}

/** What is told either way. */
interface CompactReport {
  readonly tokensBefore: number;
  /** How often the summarizer was called. */
  readonly calls: number;
  readonly hookFailures: readonly HookFailure[];
  /** To be passed to the next compaction of the session. */
  readonly hookStrikes: HookStrikes;
}

/**
 * `no-gain`: it would have saved less than a tenth; `lost-content`: a pin or the last request would have gone;
 * `already-running`: the same transcript is being compacted right now; `failed`: a port broke its contract.
 */
export type NotCompactedReason =
  | NothingToCompact["reason"]
  | "vetoed"
  | "aborted"
  | "no-gain"
  | "lost-content"
  | "already-running"
  | "failed";

/** Every start is followed by exactly one end, whatever happens in between. */
export type CompactionEvent = CompactionStart | CompactionEnd;

export interface CompactionStart {
  readonly type: "compaction_start";
  readonly trigger: CompactionTrigger;
  readonly auto: boolean;
  /** Messages that the model reads. */
  readonly before: number;
  readonly tokensBefore: number;
}

export interface CompactionEnd {
  readonly type: "compaction_end";
  readonly trigger: CompactionTrigger;
  readonly auto: boolean;
  readonly before: number;
  readonly after: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Set when nothing was compacted. */
  readonly error?: NotCompactedReason;
  readonly degraded?: DegradedReason;
}
