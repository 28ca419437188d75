import { compact } from "../compaction/compact.ts";
import type { CompactionEnd, CompactOutcome, NotCompactedReason } from "../compaction/compact-outcome.ts";
import { planCompaction } from "../compaction/plan-compaction.ts";
import type {
  CompactionPlan,
  CompactionTrigger,
  NothingToCompact,
} from "../compaction/plan-compaction-types.ts";
import { afterCompaction } from "../compaction/should-compact-trigger-state.ts";
import type { RunResult } from "./run-result.ts";
import type { SessionCore, Step } from "./session-core.ts";
import { isStillSo } from "./still-so.ts";
import { tokenLimitOf } from "./token-limit-of.ts";

/** Compacts now. Every start that is told has one end, told when it is certain what is in force. */
export async function runCompaction(
  core: SessionCore,
  trigger: CompactionTrigger,
  signal: AbortSignal,
): Promise<RunResult> {
  const { memory, log, options, ports } = core;
  const plan = planFor(core, trigger);
  let end: CompactionEnd | undefined;
  const outcome = await compact(
    plan,
    { clock: ports.clock, ...(ports.summarizer && { summarizer: ports.summarizer }) },
    {
      at: ports.clock.now(),
      signal,
      hookStrikes: memory.hookStrikes,
      ...(ports.hooks && { hooks: ports.hooks }),
      ...(options.sessionId !== undefined && { sessionId: options.sessionId }),
      onEvent: (event) => {
        if (event.type === "compaction_end") end = event;
        else log.emit(event);
      },
    },
  );
  let result: RunResult = { status: "failed", reason: "failed" };
  try {
    result = conclude(core, { trigger, plan, outcome });
    return result;
  } finally {
    if (end !== undefined) log.emit(result.status === "applied" ? end : asNothing(end));
  }
}

function planFor(core: SessionCore, trigger: CompactionTrigger): CompactionPlan | NothingToCompact {
  const { memory, line, options, meter } = core;
  return planCompaction({
    transcript: line.transcript(),
    trigger,
    representation: options.representation,
    settings: memory.settings,
    limits: memory.limits,
    estimate: meter.options(),
    redaction: options.redaction,
    ...(memory.model && { model: memory.model }),
    ...(options.summarizer && { summarizer: options.summarizer }),
    ...(options.pins && { pins: options.pins }),
    ...(options.autoContinue && { autoContinue: options.autoContinue }),
  });
}

interface Conclusion {
  readonly trigger: CompactionTrigger;
  readonly plan: CompactionPlan | NothingToCompact;
  readonly outcome: CompactOutcome;
}

function conclude(core: SessionCore, { trigger, plan, outcome }: Conclusion): RunResult {
  const { memory, log, line } = core;
  memory.hookStrikes = outcome.hookStrikes;
  for (const { hook, reason, text } of outcome.hookFailures)
    log.warn("hook-failed", `The hook ${hook} ${reason}: ${text}`);
  const { tokensBefore } = outcome;
  const failed = { step: "compact", reason: trigger, tokensBefore, tokensAfter: tokensBefore } as const;
  if (outcome.status === "unchanged" && outcome.reason === "aborted") {
    core.note({ ...failed, outcome: "aborted" });
    return { status: "aborted" };
  }
  memory.isOverflowSeen = false;
  if (outcome.status === "compacted" && isStillSo(outcome.edits, plan.transcript, line.transcript())) {
    const step: Step = { name: "compact", reason: trigger, ...(outcome.degraded && { degraded: true }) };
    const committed = core.commit(step, outcome.edits);
    if (committed !== undefined) {
      memory.isJustCompacted = true;
      // Done by hand, it is also the answer to a refusal that nothing was done about.
      if (trigger === "manual") memory.recovery = undefined;
      weighGain(core, committed);
      return { status: "applied", batch: committed.batch };
    }
  }
  const note = outcome.status === "unchanged" ? outcome.reason : "messages-changed";
  const isIdle = IDLE_REASONS.has(note);
  core.note({ ...failed, outcome: isIdle ? "nothing" : "failed", note });
  weighGain(core, { tokensBefore, tokensAfter: tokensBefore });
  if (outcome.status === "unchanged" && outcome.edits.length > 0)
    core.commit({ name: "cancel-marker", reason: note }, outcome.edits);
  memory.spent.set("compact", memory.version);
  return { status: isIdle ? "nothing" : "failed", reason: note };
}

/** After little gain the next automatic compaction waits for some turns. */
function weighGain(
  core: SessionCore,
  gain: { readonly tokensBefore: number; readonly tokensAfter: number },
): void {
  const { memory, log } = core;
  const limit = tokenLimitOf(memory);
  const { state, warning } = afterCompaction(memory.trigger, { ...gain, limit, turn: memory.answers.size });
  memory.trigger = state;
  if (warning === undefined) return;
  const { freedTokens, limitTokens, coolDownThroughTurn } = warning;
  log.warn(
    warning.type,
    `A compaction freed ${freedTokens} of ${limitTokens} tokens; the next one waits until turn ${coolDownThroughTurn}.`,
  );
}

/** What a compaction comes to that could do nothing, as opposed to one that was kept from it. */
const IDLE_REASONS: ReadonlySet<string> = new Set<NotCompactedReason>([
  "empty",
  "nothing-old",
  "too-little",
  "no-gain",
  "lost-content",
]);

function asNothing(end: CompactionEnd): CompactionEnd {
  const { degraded: _, ...rest } = end;
  return { ...rest, after: end.before, tokensAfter: end.tokensBefore, error: end.error ?? "failed" };
}
