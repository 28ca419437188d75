import type { Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import type { Clock } from "./clock.ts";
import { askSummarizer } from "./compact-ask.ts";
import { errorText } from "./compact-error-text.ts";
import type {
  CompactionEnd,
  CompactionEvent,
  CompactionStart,
  CompactOutcome,
  NotCompacted,
  Report,
} from "./compact-outcome.ts";
import { editsWhenUnchanged, settleCompaction } from "./compact-settle.ts";
import { foldSummary } from "./fold.ts";
import type { CompactionPlan, NothingToCompact } from "./plan-compaction-types.ts";
import { readWindow } from "./plan-compaction-window.ts";
import {
  askHooks,
  type HookFailure,
  type HookStrikes,
  type HooksAnswer,
  type SessionHook,
} from "./session-hooks.ts";
import type { Summarizer } from "./summarizer.ts";
import { createTextCleaner } from "./summary-clean-text.ts";
import { NO_CHANGES, type RequestChanges } from "./summary-request.ts";

/**
 * Carries out a plan: asks the hooks, asks the summarizer at most twice, folds mechanically where that fails, and
 * checks the result. Gives edits and changes nothing; comes back in time with a value, whatever the ports do.
 */
export async function compact(
  plan: CompactionPlan | NothingToCompact,
  ports: CompactPorts,
  options: CompactOptions,
): Promise<CompactOutcome> {
  const state: State = { calls: 0, hookFailures: [], hookStrikes: options.hookStrikes ?? {} };
  if (plan.status === "nothing") return unchanged(plan, state, { reason: plan.reason });
  if (running.has(plan.transcript)) return unchanged(plan, state, { reason: "already-running" });
  running.add(plan.transcript);
  const before = readWindow(plan.transcript).shown.length;
  const about: About = {
    trigger: plan.trigger,
    auto: plan.trigger !== "manual",
    before,
    tokensBefore: plan.tokensBefore,
  };
  emit(options, { type: "compaction_start", ...about });
  const outcome = await carryOut({ plan, ports, options, state }).catch((error: unknown) =>
    unchanged(plan, state, { reason: "failed", detail: errorText(error) }),
  );
  running.delete(plan.transcript);
  emit(options, { type: "compaction_end", ...about, ...endOf(outcome, about) });
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
interface State {
  calls: number;
  hookFailures: readonly HookFailure[];
  hookStrikes: HookStrikes;
}

interface Job {
  readonly plan: CompactionPlan;
  readonly ports: CompactPorts;
  readonly options: CompactOptions;
  readonly state: State;
}

async function carryOut(job: Job): Promise<CompactOutcome> {
  const { plan, ports, options, state } = job;
  const { signal } = options;
  const hooks = await hear(job, "compacting");
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
  const goOn = plan.continuation === "append" ? await hear(job, "autocontinue") : undefined;
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

function endOf(outcome: CompactOutcome, { before, tokensBefore }: About): EndOf {
  if (outcome.status === "unchanged")
    return { after: before, tokensAfter: tokensBefore, error: outcome.reason };
  const { messages, tokensAfter, degraded } = outcome;
  const after = messages.filter(isVisibleToModel).length;
  return { after, tokensAfter, ...(degraded !== undefined && { degraded }) };
}

type About = Omit<CompactionStart, "type">;
type EndOf = Pick<CompactionEnd, "after" | "tokensAfter" | "error" | "degraded">;

async function hear(
  { plan, ports, options, state }: Job,
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
  state: State,
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

function report({ tokensBefore }: CompactionPlan | NothingToCompact, state: State): Report {
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
