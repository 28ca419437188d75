import {
  type CompactionEnd,
  type CompactOutcome,
  compact,
  type NotCompactedReason,
} from "../compaction/compact.ts";
import {
  type CompactionPlan,
  type CompactionTrigger,
  type NothingToCompact,
  planCompaction,
} from "../compaction/plan/plan-compaction.ts";
import { errorText } from "../compaction/summary/text.ts";
import { maybeSummarizeToolResults } from "../compaction/tool-summaries/maybe-summarize-tool-results.ts";
import { afterCompaction } from "../compaction/trigger/should-compact.ts";
import { boundToolOutput } from "../tool-output/truncate-tool-content.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import { outcomeText, withText } from "../transcript/part.ts";
import { handleOf } from "../transcript/tool-results.ts";
import type { Recover, RunResult, SessionAction } from "./action.ts";
import type { SessionCore, Step } from "./core.ts";
import { targetsOf } from "./history.ts";
import { tokenLimitOf } from "./output-limits.ts";
import { withoutPinned } from "./prune.ts";
import { afterStep } from "./recovery.ts";

/** Performs an action through the ports. Comes back with a value whatever the ports do; an abort changes nothing. */
export async function runAction(
  core: SessionCore,
  action: SessionAction,
  signal: AbortSignal,
): Promise<RunResult> {
  const { memory, log } = core;
  if (!("version" in action)) return { status: "for-the-caller" };
  if (memory.isRunning) return { status: "busy" };
  if (action.version !== memory.version) return { status: "stale" };
  if (signal.aborted) return { status: "aborted" };
  memory.isRunning = true;
  try {
    return await perform(core, action, signal);
  } catch (error) {
    // Whatever broke, the same state must not lead here again.
    memory.spent.set(action.type, memory.version);
    if (action.type === "recover") advanceRecovery(core, action.step);
    return { status: "failed", reason: errorText(error) };
  } finally {
    memory.isRunning = false;
    await log.written();
  }
}

type OwnAction = Extract<SessionAction, { readonly version: number }>;

async function perform(core: SessionCore, action: OwnAction, signal: AbortSignal): Promise<RunResult> {
  switch (action.type) {
    case "bound-outputs": {
      const transcript = core.history.transcript();
      const edits = await boundOutputs(core, action.handles, signal);
      if (signal.aborted) return { status: "aborted" };
      const current = edits.filter((edit) => targetsUnchanged([edit], transcript, core.history.transcript()));
      return commitStep(core, { name: action.type, reason: "over-limit", unseen: true }, current);
    }
    case "prune":
    case "supersede":
      return commitStep(
        core,
        { name: action.type, reason: action.reason, arithmetic: action.arithmetic },
        withoutPinnedTargets(core, action.edits),
      );
    case "summarize-tool-results":
      return summarize(core, signal);
    case "compact":
      return runCompaction(core, action.trigger, signal);
    case "recover":
      return recover(core, action, signal);
    default:
      action satisfies never;
      return { status: "nothing", reason: "unknown action" };
  }
}

async function summarize(core: SessionCore, signal: AbortSignal): Promise<RunResult> {
  let result: RunResult = { status: "nothing", reason: "no edits" };
  const status = await runToolSummaries(core, signal, (edits, degraded) => {
    const step: Step = {
      name: "summarize-tool-results",
      reason: "over-cutoff",
      ...(degraded && { degraded: true }),
    };
    result = commitStep(core, step, edits);
    return result.status === "applied";
  });
  return status === "aborted" ? { status } : result;
}

async function recover(core: SessionCore, action: Recover, signal: AbortSignal): Promise<RunResult> {
  const { memory } = core;
  const { step, edits = [] } = action;
  const isGentle = step === "prune" || step === "shrink-turn";
  const result =
    step === "compact"
      ? await runCompaction(core, "context_limit_recovery", signal)
      : commitStep(
          core,
          { name: "recover", reason: step },
          isGentle ? withoutPinnedTargets(core, edits) : edits,
        );
  // A new request or an answer that came in meanwhile has ended the recovery.
  if (result.status === "aborted" || memory.recovery === undefined) return result;
  if (step === "compact" && result.status === "applied") memory.recoveryCompactions++;
  advanceRecovery(core, step);
  return result;
}

function advanceRecovery({ memory }: SessionCore, step: Recover["step"]): void {
  if (memory.recovery !== undefined) memory.recovery = afterStep(memory.recovery, step);
  memory.version++;
}

/** Puts edits in force, or remembers that there were none at this state. */
function commitStep(core: SessionCore, step: Step, edits: readonly Edit[]): RunResult {
  const { memory } = core;
  const committed = edits.length === 0 ? undefined : core.commit(step, edits);
  if (committed !== undefined) return { status: "applied", batch: committed.batch };
  memory.spent.set(step.name, memory.version);
  return { status: "nothing", reason: edits.length === 0 ? "no edits" : "messages are gone" };
}

function withoutPinnedTargets({ options, history }: SessionCore, edits: readonly Edit[]): readonly Edit[] {
  return withoutPinned(edits, options.pins ?? [], history.find);
}

/** Bounds outputs of the window one after another; what is left out goes into the spill store, if there is one. */
async function boundOutputs(
  { history, options, ports, memory }: SessionCore,
  handles: readonly Handle[],
  signal: AbortSignal,
): Promise<readonly Edit[]> {
  const wanted = new Set(handles);
  const { limits } = memory.unbounded;
  const edits: Edit[] = [];
  for (const message of history.transcript()) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type !== "tool" || !wanted.has(handleOf(message, partIndex)) || signal.aborted) continue;
      const text = outcomeText(part.outcome);
      const bounded = await boundToolOutput(text, {
        signal,
        ...(limits && { limits }),
        ...(ports.spills && { store: ports.spills }),
        ...(options.redaction !== "off" && options.redactOutputs === "on" && { redact: options.redaction }),
      });
      if (bounded.cut === undefined) continue;
      const place = handleOf(message, partIndex);
      const shown = ports.spills === undefined ? `${bounded.text}\n${keptNotice(place)}` : bounded.text;
      const omittedChars = Math.max(0, text.length - shown.length);
      edits.push({
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: {
          ...part,
          outcome: withText(part.outcome, shown),
          cut: bounded.cut,
        },
        stage: "tool-output",
        reason: "oversize",
        omitted: { chars: omittedChars, handle: bounded.handle ?? place },
      });
    }
  }
  return edits;
}

/** Without a store the transcript itself has the whole output, under the handle of the part. */
function keptNotice(handle: Handle): string {
  return `[Full output kept: handle ${handle}. Read parts of it with the recall tool and this handle.]`;
}

/** Asks for summaries of old tool results, or takes those that have arrived; told by a start and an end. */
async function runToolSummaries(
  core: SessionCore,
  signal: AbortSignal,
  apply: (edits: readonly Edit[], degraded: boolean) => boolean,
): Promise<"applied" | "nothing" | "aborted"> {
  const { memory, history, log, options, ports } = core;
  const transcript = history.transcript();
  log.emit({ type: "tool_summary_start", visibleResults: core.countedResults().length });
  let ended: Ended = { archivedResults: 0, error: "failed" };
  try {
    const { redaction, summarizer, pins } = options;
    const { edits, pending, degraded } = await maybeSummarizeToolResults(transcript, {
      settings: {
        ...memory.settings,
        ...(redaction !== "off" && { redact: redaction }),
        ...(pins && { pins }),
        ...(summarizer?.model && { model: summarizer.model }),
      },
      summarizer: ports.summarizer,
      clock: ports.clock,
      signal,
      pending: memory.pendingSummaries,
    });
    if (signal.aborted) {
      ended = { archivedResults: 0, error: "aborted" };
      return "aborted";
    }
    memory.pendingSummaries = pending;
    const isApplied = apply(targetsUnchanged(edits, transcript, history.transcript()) ? edits : [], degraded);
    const archived = isApplied ? edits.filter((edit) => edit.reason === "archived") : [];
    ended = { archivedResults: archived.length, ...(degraded && { degraded }) };
    return isApplied ? "applied" : "nothing";
  } finally {
    log.emit({ type: "tool_summary_end", ...ended });
  }
}

interface Ended {
  readonly archivedResults: number;
  readonly error?: string;
  readonly degraded?: true;
}

/** Compacts now. Every start that is told has one end, told when it is certain what is in force. */
async function runCompaction(
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
    if (end !== undefined) log.emit(result.status === "applied" ? end : asUnchanged(end));
  }
}

function planFor(core: SessionCore, trigger: CompactionTrigger): CompactionPlan | NothingToCompact {
  const { memory, history, options, meter } = core;
  return planCompaction({
    transcript: history.transcript(),
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
  const { memory, log, history } = core;
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
  if (
    outcome.status === "compacted" &&
    targetsUnchanged(outcome.edits, plan.transcript, history.transcript())
  ) {
    const step: Step = { name: "compact", reason: trigger, ...(outcome.degraded && { degraded: true }) };
    const committed = core.commit(step, outcome.edits);
    if (committed !== undefined) {
      memory.isJustCompacted = true;
      // Done by hand, it is also the answer to a refusal that nothing was done about.
      if (trigger === "manual") memory.recovery = undefined;
      startCoolDown(core, committed);
      return { status: "applied", batch: committed.batch };
    }
  }
  const note = outcome.status === "unchanged" ? outcome.reason : "messages-changed";
  const isIdle = IDLE_REASONS.has(note);
  core.note({ ...failed, outcome: isIdle ? "nothing" : "failed", note });
  startCoolDown(core, { tokensBefore, tokensAfter: tokensBefore });
  if (outcome.status === "unchanged" && outcome.edits.length > 0)
    core.commit({ name: "cancel-marker", reason: note }, outcome.edits);
  memory.spent.set("compact", memory.version);
  return { status: isIdle ? "nothing" : "failed", reason: note };
}

/** After little gain the next automatic compaction waits for some turns. */
function startCoolDown(
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

function asUnchanged(end: CompactionEnd): CompactionEnd {
  const { degraded: _, ...rest } = end;
  return { ...rest, after: end.before, tokensAfter: end.tokensBefore, error: end.error ?? "failed" };
}

/** True when every message that edits speak of is the same now as when they were decided: only then may a late result be used. */
function targetsUnchanged(edits: readonly Edit[], then: Transcript, now: Transcript): boolean {
  if (then === now) return true;
  const targets = new Set(edits.flatMap(targetsOf));
  const pick = (transcript: Transcript): ReadonlyMap<MessageId, Message> =>
    new Map(transcript.filter(({ id }) => targets.has(id)).map((message) => [message.id, message]));
  const [before, after] = [pick(then), pick(now)];
  return [...before].every(([id, message]) => after.get(id) === message);
}
