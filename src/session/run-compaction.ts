import {
  type CompactionEnd,
  type CompactionEvent,
  type CompactionFailed,
  compact,
  type NotCompactedReason,
} from "../compaction/compact.ts";
import {
  type CompactionPlan,
  type CompactionTrigger,
  type NothingToCompact,
  planCompaction,
} from "../compaction/plan/plan-compaction.ts";
import { callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { RunResult } from "./action.ts";
import { useBackupEdits } from "./backup-summary.ts";
import { compactionInput, earlyInput, whenBegun } from "./compaction-input.ts";
import type { FinishedCompaction, PendingCompaction } from "./finished-compaction.ts";
import { targetsOf } from "./history.ts";
import { compactByProvider, planProviderCompaction } from "./provider-compaction.ts";
import type { SessionChange } from "./reduce.ts";
import type { Runtime } from "./runtime.ts";
import { fitsModel } from "./view.ts";

/** Compacts now. A summary that was begun in the background is waited for and used, unless it was overtaken. */
export async function runCompaction(
  runtime: Runtime,
  { trigger, by, isRecovering = false }: CompactionAsked,
  signal: AbortSignal,
): Promise<RunResult> {
  const found = by === undefined ? undefined : planProviderCompaction(runtime.view(), trigger, 0);
  if (found !== undefined) {
    await dropBackground(runtime);
    const finished = await compactByProvider(runtime, found, signal);
    if (finished === "aborted") {
      const { tokensBefore } = found.plan;
      const unchanged = { tokensBefore, tokensAfter: tokensBefore };
      runtime.note({ step: "compact", reason: trigger, outcome: "aborted", ...unchanged });
      return { status: "aborted" };
    }
    if (finished !== "failed") return settle(runtime, finished, isRecovering);
    // What an earlier block stands for has to be readable for a summary of ours.
    const edits = useBackupEdits(runtime.view());
    if (edits.length > 0) runtime.commit({ step: "use-backup-summary", reason: "before-compaction", edits });
  }
  const { begun } = runtime.state();
  if (begun !== undefined && trigger !== "manual") {
    const finished = await begunOutcome(runtime, signal);
    if (signal.aborted) return { status: "aborted" };
    const isCurrent = finished !== undefined && runtime.state().begun === begun;
    if (isCurrent && (finished.outcome.status !== "compacted" || isUsable(runtime, finished)))
      return settle(runtime, { ...finished, trigger }, isRecovering);
  }
  await dropBackground(runtime);
  const fits = trigger !== "context_limit_recovery" && fitsModel(runtime.view());
  const plan = planCompaction(compactionInput(runtime.view(), trigger));
  return settle(runtime, await carryOut(runtime, plan, { trigger, fits, signal }), isRecovering);
}

interface CompactionAsked {
  readonly trigger: CompactionTrigger;
  readonly by?: "provider";
  /** A refused request needs it. */
  readonly isRecovering?: boolean;
}

/** Has the summary of a compaction written that will soon be due. Requests go on; `runCompaction` puts it in force. */
export function beginCompaction(runtime: Runtime): RunResult {
  const plan = planCompaction(earlyInput(runtime.view()));
  if (plan.status === "nothing") {
    runtime.change({ type: "spent", step: "begin-compaction" });
    return { status: "nothing", reason: plan.reason };
  }
  runtime.change({ type: "compaction-begun", replacedIds: plan.replacedIds });
  runtime.writeRest();
  const work = new AbortController();
  const outcome = carryOut(runtime, plan, {
    trigger: "threshold",
    fits: true,
    signal: work.signal,
    background: "unheld",
  });
  const giveUp = async (): Promise<void> => {
    if (runtime.background === pending) runtime.background = undefined;
    work.abort();
    const { end } = await outcome;
    if (end !== undefined) runtime.log.emit({ ...asUnchanged(end), error: "overtaken" });
  };
  let dropped: Promise<void> | undefined;
  const pending: PendingCompaction = {
    outcome,
    drop() {
      dropped ??= giveUp();
      return dropped;
    },
  };
  runtime.background = pending;
  return { status: "nothing", reason: "begun" };
}

/** What came of the compaction that was begun. After a restart nobody is writing its summary any more, so it is asked for again. */
async function begunOutcome(runtime: Runtime, signal: AbortSignal): Promise<FinishedCompaction | undefined> {
  const { background } = runtime;
  if (background !== undefined) {
    await untilAborted(background.outcome, { clock: runtime.ports.clock, signal });
    return signal.aborted ? undefined : background.outcome;
  }
  const then = whenBegun(runtime.state(), runtime);
  const plan = then && planCompaction(earlyInput(then));
  if (plan === undefined || plan.status === "nothing") return undefined;
  return carryOut(runtime, plan, { trigger: "threshold", fits: true, signal, background: "held" });
}

/** Waits for what was begun in the background, which keeps the process alive only here. */
export async function waitForBackground({ background, ports }: Runtime, signal: AbortSignal): Promise<void> {
  if (background !== undefined) await untilAborted(background.outcome, { clock: ports.clock, signal });
}

/** Waits for work that has limits of its own, or until the signal aborts. */
export async function untilAborted(
  work: Promise<unknown>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  await callWithin({ start: () => work, limitMs: LONGEST_WAIT_MS, clock, signal });
}

/** Longer than any summary may take. */
const LONGEST_WAIT_MS = 3_600_000;

/** Gives up what was begun in the background, and waits until it has stopped. */
async function dropBackground(runtime: Runtime): Promise<void> {
  const { background } = runtime;
  runtime.change({ type: "compaction-dropped" });
  await background?.drop();
}

/** Asks for what was planned; puts nothing in force. Events about the end are held back until it is certain what is. */
async function carryOut(
  runtime: Runtime,
  plan: CompactionPlan | NothingToCompact,
  { trigger, fits, signal, background }: HowCarriedOut,
): Promise<FinishedCompaction> {
  const { ports, log } = runtime;
  const { history, hookStrikes } = runtime.state();
  const clock: Clock =
    background === "unheld"
      ? { now: () => ports.clock.now(), sleep: (ms, over) => ports.clock.sleep(ms, over, "unheld") }
      : ports.clock;
  let failure: CompactionFailed | undefined;
  let end: CompactionEnd | undefined;
  const outcome = await compact(
    plan,
    { clock, ...(ports.summarizer && { summarizer: ports.summarizer }) },
    {
      at: ports.clock.now(),
      signal,
      hookStrikes,
      afterFailure: fits ? "keep" : "local",
      ...omitUndefined({ hooks: ports.hooks }),
      onEvent(told) {
        const event: CompactionEvent = background ? { ...told, background: true } : told;
        if (event.type === "compaction_end") end = event;
        else if (event.type === "compaction.failed") failure = event;
        else log.emit(event);
      },
    },
  );
  return { trigger, fits, outcome, plannedOn: history, failure, end };
}

interface HowCarriedOut {
  readonly trigger: CompactionTrigger;
  /** The model still takes the window. */
  readonly fits: boolean;
  readonly signal: AbortSignal;
  /** Set when it was begun early; `unheld`: nobody waits for it, so it keeps no process alive. */
  readonly background?: "held" | "unheld";
}

/** Puts a compaction in force, where it still can be. Every start has one end, which is emitted when it is certain what is in force. */
function settle(runtime: Runtime, finished: FinishedCompaction, isRecovering: boolean): RunResult {
  const { log } = runtime;
  const { failure, end } = finished;
  let result: RunResult = { status: "failed", reason: "failed" };
  runtime.background = undefined;
  try {
    result = commitCompaction(runtime, finished, isRecovering);
    return result;
  } finally {
    const isApplied = result.status === "applied";
    if (failure !== undefined) log.emit(isApplied ? failure : { ...failure, window: "kept" });
    if (end !== undefined) log.emit(isApplied ? asNow(runtime, end) : asUnchanged(end));
  }
}

/** Where requests went on, the figures of the plan are old. */
function asNow(runtime: Runtime, end: CompactionEnd): CompactionEnd {
  if (!end.background) return end;
  const tokensAfter = runtime.state().ledger.at(-1)?.tokensAfter ?? end.tokensAfter;
  return { ...end, after: runtime.view().window.shown.length, tokensAfter };
}

function commitCompaction(runtime: Runtime, finished: FinishedCompaction, isRecovering: boolean): RunResult {
  const { trigger, fits, outcome } = finished;
  for (const { hook, reason, text } of outcome.hookFailures)
    runtime.log.warn("hook-failed", `The hook ${hook} ${reason}: ${text}`);
  const { tokensBefore, hookStrikes } = outcome;
  const over = (result: string): readonly SessionChange[] => [
    { type: "compaction-over", trigger, result, fits, hookStrikes },
  ];
  const advanced = (came: "applied" | "nothing"): readonly SessionChange[] =>
    isRecovering ? [{ type: "recovery-advanced", step: "compact", outcome: came }] : [];
  const unchanged = { step: "compact", reason: trigger, tokensBefore, tokensAfter: tokensBefore } as const;
  if (outcome.status === "unchanged" && outcome.reason === "aborted") {
    runtime.note({ ...unchanged, outcome: "aborted" }, over("aborted"));
    return { status: "aborted" };
  }
  if (outcome.status === "compacted" && isUsable(runtime, finished)) {
    const { edits, degraded } = outcome;
    const committed = runtime.commit(
      { step: "compact", reason: trigger, edits, ...(degraded && { degraded: true }) },
      [...over("applied"), ...advanced("applied")],
    );
    if (committed !== undefined) return { status: "applied", batch: committed.batch };
  }
  const note = outcome.status === "unchanged" ? outcome.reason : "messages-changed";
  const status = IDLE_REASONS.has(note) ? "nothing" : "failed";
  const isHeld = HOLDING_REASONS.has(note);
  const after: readonly SessionChange[] = [
    // A person may ask again for what is held.
    ...(isHeld ? [] : [{ type: "spent", step: "compact" } as const]),
    ...advanced("nothing"),
  ];
  const edits = outcome.status === "unchanged" ? outcome.edits : [];
  runtime.note({ ...unchanged, outcome: status, note }, [...over(note), ...(edits.length > 0 ? [] : after)]);
  if (edits.length > 0) runtime.commit({ step: "cancel-marker", reason: note, edits }, after);
  return { status, reason: note };
}

/** Why a compaction had nothing to do, as opposed to failing. */
const IDLE_REASONS: ReadonlySet<string> = new Set<NotCompactedReason>([
  "empty",
  "nothing-old",
  "too-little",
  "no-gain",
  "lost-content",
]);

/** After these a compaction that is due has to wait. */
const HOLDING_REASONS: ReadonlySet<string> = new Set<NotCompactedReason>(["vetoed", "summary-failed"]);

function asUnchanged(end: CompactionEnd): CompactionEnd {
  const { degraded: _, ...rest } = end;
  return { ...rest, after: end.before, tokensAfter: end.tokensBefore, error: end.error ?? "failed" };
}

/** True when every message that the edits hide is as its owner had it when they were decided, and every one that they change as it was shown. */
function isUsable(runtime: Runtime, { outcome, plannedOn }: FinishedCompaction): boolean {
  const now = runtime.state().history;
  if (plannedOn.transcript === now.transcript) return true;
  const isChanging = ({ type }: Edit): boolean => type === "replace-part" || type === "move-message";
  const changed = new Set(outcome.edits.filter(isChanging).flatMap(targetsOf));
  const targets = new Set(outcome.edits.flatMap(targetsOf));
  const isCurrent = plannedOn.messages === now.messages || areSame(targets, plannedOn.messages, now.messages);
  return isCurrent && areSame(changed, plannedOn.transcript, now.transcript);
}

/** True when these messages are the same in both. */
export function areSame(ids: ReadonlySet<MessageId>, then: Transcript, now: Transcript): boolean {
  const current = new Map<MessageId, Message>(now.map((message) => [message.id, message]));
  return then.every((message) => !ids.has(message.id) || current.get(message.id) === message);
}
