import {
  type CompactionEnd,
  type CompactionEvent,
  type CompactionFailed,
  compact,
  type NotCompactedReason,
} from "../compaction/compact.ts";
import {
  type CompactionInput,
  type CompactionPlan,
  type CompactionTrigger,
  type NothingToCompact,
  planCompaction,
} from "../compaction/plan/plan-compaction.ts";
import { keepAmount } from "../compaction/plan/window.ts";
import { callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import { afterCompaction } from "../compaction/trigger/should-compact.ts";
import { omitUndefined } from "../text/json.ts";
import type { Edit } from "../transcript/edit.ts";
import { estimateMessageTokens } from "../transcript/estimate-message.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { RunResult } from "./action.ts";
import type { SessionCore, Step } from "./core.ts";
import { targetsOf } from "./history.ts";
import { fitsModel, holdAfter } from "./hold.ts";
import type { FinishedCompaction, PendingCompaction, PlannedOn } from "./memory.ts";
import { useShadowEdits } from "./native-shadow.ts";
import { compactByProvider, type ProviderPlan, planByProvider } from "./provider-compaction.ts";

/** Compacts now. A summary that was begun in the background is waited for and used, unless it is overtaken. */
export async function runCompaction(
  core: SessionCore,
  { trigger, by }: { readonly trigger: CompactionTrigger; readonly by?: "provider" },
  signal: AbortSignal,
): Promise<RunResult> {
  const { memory } = core;
  const found = by === undefined ? undefined : planProviderCompaction(core, trigger, 0);
  if (found !== undefined) {
    await dropBackground(core);
    const finished = await compactByProvider(core, found, signal);
    if (finished === "aborted") {
      const { tokensBefore } = found.plan;
      core.note({
        step: "compact",
        reason: trigger,
        outcome: "aborted",
        tokensBefore,
        tokensAfter: tokensBefore,
      });
      return { status: "aborted" };
    }
    if (finished !== "failed") return settle(core, finished);
    // What an earlier block stands for has to be readable for a summary of ours.
    const edits = useShadowEdits(core);
    if (edits.length > 0) core.commit({ name: "use-shadow", reason: "before-compaction" }, edits);
  }
  const early = trigger === "manual" ? undefined : memory.background;
  if (early !== undefined && isCurrent(core, early.foldedIds, early.then)) {
    await waitForBackground(core, signal);
    if (signal.aborted) return { status: "aborted" };
    const { finished } = early;
    if (finished !== undefined && memory.background === early && isUsable(core, finished)) {
      memory.background = undefined;
      return settle(core, { ...finished, trigger });
    }
  }
  await dropBackground(core);
  const fits = trigger !== "context_limit_recovery" && fitsModel(core);
  const plan = planCompaction(compactionInput(core, trigger));
  return settle(core, await carryOut(core, plan, { trigger, fits, signal }));
}

/** The compaction that the provider would be asked for now; undefined where it cannot be, or where that does not pay. */
export function planProviderCompaction(
  core: SessionCore,
  trigger: CompactionTrigger,
  idleMs: number,
): ProviderPlan | undefined {
  return core.ports.summarizer?.byProvider === undefined
    ? undefined
    : planByProvider(core, { input: compactionInput(core, trigger), idleMs });
}

/** Begins a compaction that will soon be due. Requests go on; `runCompaction` puts it in force. */
export function beginCompaction(core: SessionCore): RunResult {
  const { memory, history } = core;
  const then = { transcript: history.transcript(), source: history.source() };
  const plan = planCompaction(earlyInput(core));
  if (plan.status === "nothing") {
    memory.spent.set("begin-compaction", memory.version);
    return { status: "nothing", reason: plan.reason };
  }
  const work = new AbortController();
  const pending: PendingCompaction = {
    then,
    foldedIds: new Set(plan.foldedIds),
    finished: undefined,
    stop: () => work.abort(),
    done: carryOut(core, plan, {
      trigger: "threshold",
      fits: true,
      signal: work.signal,
      background: true,
    }).then((finished) => {
      if (finished.outcome.status === "compacted" && memory.background === pending)
        pending.finished = finished;
      else {
        // A failure counts from when it happened.
        if (memory.background === pending) memory.background = undefined;
        settle(core, finished);
      }
      memory.version++;
    }),
  };
  memory.background = pending;
  memory.version++;
  return { status: "nothing", reason: "in-background" };
}

/** Waits for what was begun in the background, which keeps the process alive only here. */
export async function waitForBackground({ memory, ports }: SessionCore, signal: AbortSignal): Promise<void> {
  const { done } = memory.background ?? {};
  if (done !== undefined) await untilAborted(done, { clock: ports.clock, signal });
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
export async function dropBackground({ memory, log }: SessionCore): Promise<void> {
  const pending = memory.background;
  if (pending === undefined) return;
  memory.background = undefined;
  const { end } = pending.finished ?? {};
  pending.stop();
  if (end !== undefined) log.emit({ ...asUnchanged(end), error: "overtaken" });
  await pending.done;
}

/** From how many tokens on a compaction that is due at `dueTokens` is begun. */
export function earlyTokens(core: SessionCore, dueTokens: number): number {
  const keep = keepAmount(keepInput(core));
  // Where the tail holds but a few steps, one more of them would make compactions more frequent.
  if (keep.type === "tokens" && newestTokens(core) > keep.tokens * MAX_STEP_SHARE)
    return Number.POSITIVE_INFINITY;
  const mostTokens = dueTokens * MAX_LEAD_SHARE;
  const leadTokens = keep.type === "tokens" ? Math.min(keep.tokens * LEAD_SHARE, mostTokens) : mostTokens / 2;
  return dueTokens - leadTokens;
}

/** How much of the tail is still to come when the summary is begun; the rest of the time is the summarizer's. */
const LEAD_SHARE = 0.5;
const MAX_LEAD_SHARE = 0.1;
/** The largest part of the tail that a step may take where compactions are begun early. */
const MAX_STEP_SHARE = 1 / 3;

function newestTokens({ window, meter }: SessionCore): number {
  const newest = window().marked.at(-1);
  return newest === undefined ? 0 : estimateMessageTokens(newest, meter.options());
}

/** What came since the plan was made counts as a part of the tail: so the window is as large as if it had been compacted when due. */
function earlyInput(core: SessionCore): CompactionInput {
  const input: CompactionInput = { ...compactionInput(core, "threshold"), autoContinue: "never" };
  const keep = keepAmount(keepInput(core));
  if (keep.type !== "tokens") return input;
  const openTokens = core.believed.dueTokens() - core.meter.estimate().tokens;
  const comingTokens = Math.max(0, openTokens) + newestTokens(core) / 2;
  const tailTokens = Math.max(1, Math.floor(keep.tokens - comingTokens));
  if (input.representation === "pivot" && input.tailTokens !== "as-settings") return { ...input, tailTokens };
  return { ...input, settings: { ...core.memory.settings, keepRecentTokens: tailTokens } };
}

function keepInput(core: SessionCore): Parameters<typeof keepAmount>[0] {
  const { representation = "pivot", ...input } = compactionInput(core, "threshold");
  return { ...input, representation, overheadTokens: core.meter.overheadTokens() };
}

function compactionInput(core: SessionCore, trigger: CompactionTrigger): CompactionInput {
  const { memory, options, history, meter, believed } = core;
  return {
    transcript: history.transcript(),
    trigger,
    representation: options.representation,
    settings: memory.settings,
    limits: believed.estimateLimits(),
    overflow: believed.overflowSettings(),
    profile: options.profile,
    estimate: meter.options(),
    redaction: options.redaction,
    keep: core.heldOutputs(),
    ...omitUndefined({ model: memory.model, summarizer: options.summarizer }),
    ...omitUndefined({ pins: options.pins, autoContinue: options.autoContinue, tailTokens: options.tail }),
    ...omitUndefined({ compactAt: options.compactAt }),
  };
}

/** Asks for what was planned on the messages as they are; puts nothing in force. Events about the end are held back until it is certain what is. */
async function carryOut(
  { memory, log, options, ports, history }: SessionCore,
  plan: CompactionPlan | NothingToCompact,
  { trigger, fits, signal, background }: HowCarriedOut,
): Promise<FinishedCompaction> {
  const then = { transcript: history.transcript(), source: history.source() };
  const clock: Clock = background
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
      hookStrikes: memory.hookStrikes,
      afterFailure: fits ? "keep" : "fold",
      ...omitUndefined({ hooks: ports.hooks, sessionId: options.sessionId }),
      onEvent(told) {
        const event: CompactionEvent = background ? { ...told, background } : told;
        if (event.type === "compaction_end") end = event;
        else if (event.type === "compaction.failed") failure = event;
        else log.emit(event);
      },
    },
  );
  return { trigger, fits, outcome, then, failure, end };
}

interface HowCarriedOut {
  readonly trigger: CompactionTrigger;
  /** The model still takes the window. */
  readonly fits: boolean;
  readonly signal: AbortSignal;
  readonly background?: true;
}

/** Puts a compaction in force, where it still can be. Every start has one end, which is emitted when it is certain what is in force. */
function settle(core: SessionCore, finished: FinishedCompaction): RunResult {
  const { log } = core;
  const { failure, end } = finished;
  let result: RunResult = { status: "failed", reason: "failed" };
  try {
    result = commitCompaction(core, finished);
    return result;
  } finally {
    const isApplied = result.status === "applied";
    if (failure !== undefined) log.emit(isApplied ? failure : { ...failure, window: "kept" });
    if (end !== undefined) log.emit(isApplied ? asNow(core, end) : asUnchanged(end));
  }
}

/** Where requests went on, the figures of the plan are old. */
function asNow(core: SessionCore, end: CompactionEnd): CompactionEnd {
  if (!end.background) return end;
  const tokensAfter = core.memory.ledger.at(-1)?.tokensAfter ?? end.tokensAfter;
  return { ...end, after: core.window().shown.length, tokensAfter };
}

function commitCompaction(core: SessionCore, finished: FinishedCompaction): RunResult {
  const { trigger, fits, outcome } = finished;
  const { memory, log } = core;
  memory.hookStrikes = outcome.hookStrikes;
  for (const { hook, reason, text } of outcome.hookFailures)
    log.warn("hook-failed", `The hook ${hook} ${reason}: ${text}`);
  const { tokensBefore } = outcome;
  const unchanged = { step: "compact", reason: trigger, tokensBefore, tokensAfter: tokensBefore } as const;
  if (outcome.status === "unchanged" && outcome.reason === "aborted") {
    core.note({ ...unchanged, outcome: "aborted" });
    return { status: "aborted" };
  }
  memory.isOverflowSeen = false;
  if (outcome.status === "compacted" && isUsable(core, finished)) {
    const step: Step = { name: "compact", reason: trigger, ...(outcome.degraded && { degraded: true }) };
    const committed = core.commit(step, outcome.edits);
    if (committed !== undefined) {
      memory.isJustCompacted = true;
      memory.held = undefined;
      // A person who compacts by hand has dealt with the refusal.
      if (trigger === "manual") memory.recovery = undefined;
      startCoolDown(core, trigger, committed);
      return { status: "applied", batch: committed.batch };
    }
  }
  const note = outcome.status === "unchanged" ? outcome.reason : "messages-changed";
  const status = IDLE_REASONS.has(note) ? "nothing" : "failed";
  core.note({ ...unchanged, outcome: status, note });
  const held = holdAfter(note, { before: memory.held, turn: memory.answers.size, fits });
  if (held === undefined) startCoolDown(core, trigger, unchanged);
  else memory.held = held;
  if (outcome.status === "unchanged" && outcome.edits.length > 0)
    core.commit({ name: "cancel-marker", reason: note }, outcome.edits);
  // A person may ask again for what is held.
  if (held === undefined) memory.spent.set("compact", memory.version);
  return { status, reason: note };
}

/** After one that gained little the next automatic one waits for some turns. A person may compact a window that is not full. */
function startCoolDown(
  { memory, log, believed }: SessionCore,
  trigger: CompactionTrigger,
  { tokensBefore, tokensAfter }: { readonly tokensBefore: number; readonly tokensAfter: number },
): void {
  if (trigger === "manual") return;
  const { state, warning } = afterCompaction(memory.trigger, {
    tokensBefore,
    tokensAfter,
    limit: believed.conversationLimit(),
    turn: memory.answers.size,
  });
  memory.trigger = state;
  if (warning === undefined) return;
  const { freedTokens, limitTokens, coolDownThroughTurn } = warning;
  log.warn(
    warning.type,
    `A compaction freed ${freedTokens} of ${limitTokens} tokens; the next one waits until turn ${coolDownThroughTurn}.`,
  );
}

/** Why a compaction had nothing to do, as opposed to failing. */
const IDLE_REASONS: ReadonlySet<string> = new Set<NotCompactedReason>([
  "empty",
  "nothing-old",
  "too-little",
  "no-gain",
  "lost-content",
]);

function asUnchanged(end: CompactionEnd): CompactionEnd {
  const { degraded: _, ...rest } = end;
  return { ...rest, after: end.before, tokensAfter: end.tokensBefore, error: end.error ?? "failed" };
}

/** True when every message that the edits hide is as its owner had it when they were decided, and every one that they change as it was shown. */
function isUsable(core: SessionCore, { outcome, then }: FinishedCompaction): boolean {
  const now = core.history.transcript();
  if (then.transcript === now) return true;
  const isChanging = ({ type }: Edit): boolean => type === "replace-part" || type === "move-message";
  const changed = new Set(outcome.edits.filter(isChanging).flatMap(targetsOf));
  return (
    isCurrent(core, new Set(outcome.edits.flatMap(targetsOf)), then) && areSame(changed, then.transcript, now)
  );
}

/** True while the owner has not changed these messages. */
function isCurrent({ history }: SessionCore, ids: ReadonlySet<MessageId>, { source }: PlannedOn): boolean {
  return source === history.source() || areSame(ids, source, history.source());
}

/** True when these messages are the same in both. */
export function areSame(ids: ReadonlySet<MessageId>, then: Transcript, now: Transcript): boolean {
  const current = new Map<MessageId, Message>(now.map((message) => [message.id, message]));
  return then.every((message) => !ids.has(message.id) || current.get(message.id) === message);
}
