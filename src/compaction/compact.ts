import { applyEdits } from "../transcript/apply-edits.ts";
import type { Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import type { Clock } from "./clock.ts";
import { askSummarizer } from "./compact-ask.ts";
import { missingAfter } from "./compact-check.ts";
import { cancelEdits, compactionEdits, type SummaryResult } from "./compact-edits.ts";
import { errorText } from "./compact-error-text.ts";
import type { CompactionEvent, CompactOutcome, NotCompactedReason } from "./compact-outcome.ts";
import { foldSummary } from "./fold.ts";
import { contextTokens } from "./plan-compaction.ts";
import type { CompactionPlan, NothingToCompact } from "./plan-compaction-types.ts";
import { readWindow } from "./plan-compaction-window.ts";
import { askHooks, type HookFailure, type HookStrikes, type SessionHook } from "./session-hooks.ts";
import type { Summarizer } from "./summarizer.ts";

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
  const about = { trigger: plan.trigger, auto: plan.trigger !== "manual", before, tokensBefore: plan.tokensBefore };
  emit(options, { type: "compaction_start", ...about });
  let outcome: CompactOutcome = unchanged(plan, state, { reason: "failed" });
  try {
    outcome = await carryOut({ plan, ports, options, state });
  } catch (error) {
    outcome = unchanged(plan, state, { reason: "failed", detail: errorText(error) });
  } finally {
    running.delete(plan.transcript);
    const isDone = outcome.status === "compacted";
    emit(options, {
      type: "compaction_end",
      ...about,
      after: isDone ? outcome.messages.filter(isVisibleToModel).length : before,
      tokensAfter: isDone ? outcome.tokensAfter : plan.tokensBefore,
      ...(isDone ? outcome.degraded && { degraded: outcome.degraded } : { error: outcome.reason }),
    });
  }
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

/** The most that may be left for a compaction to stand. */
export const MAX_TOKENS_SHARE = 0.9;

/** A hook that starts a compaction of what is being compacted must not get one. */
const running = new WeakSet<Transcript>();

/** The facts give way step by step before a compaction is given up. */
const FACTS_SHARES: readonly number[] = [1, 0.5, 0.25, 0];

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
  if (hooks.vetoedBy !== undefined) return unchanged(plan, state, { reason: "vetoed", detail: hooks.vetoedBy });

  const answer = await askSummarizer({
    plan,
    summarizer: ports.summarizer,
    clock: ports.clock,
    signal,
    changes: { context: hooks.context, ...(hooks.prompt !== undefined && { prompt: hooks.prompt }) },
  });
  state.calls = answer.calls;
  if (answer.status === "aborted") return unchanged(plan, state, { reason: "aborted" });
  const goOn = plan.continuation === "append" ? await hear(job, "autocontinue") : undefined;
  if (signal?.aborted) return unchanged(plan, state, { reason: "aborted" });
  const { maxSummaryTokens } = plan.material;
  const { estimator } = plan.estimate;
  const isFold = answer.status === "refused";
  return settle(job, {
    prose: isFold
      ? foldSummary(plan.foldMaterial, { maxTokens: maxSummaryTokens, ...(estimator && { estimator }) })
      : answer.text,
    degraded: isFold ? answer : undefined,
    continuation: goOn?.isContinueRefused ? "suppressed" : "append",
  });
}
