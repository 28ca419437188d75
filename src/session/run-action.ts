import { errorText } from "../compaction/summary/text.ts";
import { maybeSummarizeToolResults } from "../compaction/tool-summaries/maybe-summarize-tool-results.ts";
import { isToolSummary } from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { omitUndefined } from "../text/json.ts";
import { readingHint } from "../tool-output/cut-text.ts";
import { boundToolOutput } from "../tool-output/truncate-tool-content.ts";
import { handleOf, outcomeText } from "../transcript/content.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import { type Transcript, withText } from "../transcript/message.ts";
import type { Recover, RunResult, SessionAction } from "./action.ts";
import { callStage, stageLabel } from "./call-stage.ts";
import type { SessionCore, Step } from "./core.ts";
import { firstIndexOf, targetsOf } from "./history.ts";
import type { ToolSummaryEnd } from "./log.ts";
import { RUN_STAGE } from "./memory.ts";
import { keepShadowEdits, useShadowEdits } from "./native-shadow.ts";
import { pinsWithHeld, withoutPinned } from "./prune.ts";
import { afterStep } from "./recovery.ts";
import { areSame, beginCompaction, runCompaction } from "./run-compaction.ts";
import { isOfCompaction, isShadowBatch } from "./window.ts";

/** Runs an action through the ports. Never throws: whatever the ports do gives a value, and an abort changes nothing. */
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
    // The same state must not lead to the same failure again.
    memory.spent.set(action.type, memory.version);
    if (action.type === "recover") advanceRecovery(core, action.step, "nothing");
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
    case "run-stage":
      return runStage(core, action.stage, signal);
    case "keep-shadow":
      return keepShadow(core, action.reason);
    case "use-shadow":
      return commitStep(core, { name: action.type, reason: action.reason }, useShadowEdits(core));
    case "prune":
    case "supersede":
      return commitStep(
        core,
        { name: action.type, reason: action.reason, arithmetic: action.arithmetic },
        withoutPinned(core, action.edits),
      );
    case "summarize-tool-results":
      return summarizeToolResults(core, signal);
    case "begin-compaction":
      return beginCompaction(core);
    case "compact":
      return runCompaction(core, action, signal);
    case "recover":
      return recover(core, action, signal);
    default:
      action satisfies never;
      return { status: "nothing", reason: "unknown action" };
  }
}

/** Puts the edits of one stage in force, unless what they name has changed meanwhile. */
async function runStage(core: SessionCore, index: number, signal: AbortSignal): Promise<RunResult> {
  const transcript = core.history.transcript();
  const edits = await callStage(core, index, signal);
  if (edits === undefined) return { status: "aborted" };
  const isCurrent = targetsUnchanged(edits, transcript, core.history.transcript());
  return commitStep(core, { name: RUN_STAGE, reason: stageLabel(core, index) }, isCurrent ? edits : []);
}

/** Keeps a shadow of what the newest block stands for; the one of the block before it is in it. */
function keepShadow(core: SessionCore, reason: string): RunResult {
  const { history, log, memory, ports } = core;
  const earlier = history.batches().filter(isShadowBatch);
  const result = commitStep(core, { name: "keep-shadow", reason, unseen: true }, keepShadowEdits(core));
  if (result.status !== "applied") return result;
  memory.beforeNative = [];
  for (const { id } of earlier) {
    history.remove(id);
    log.write({ v: 1, type: "drop", batchId: id, at: ports.clock.now() });
  }
  return result;
}

async function recover(core: SessionCore, action: Recover, signal: AbortSignal): Promise<RunResult> {
  const { memory } = core;
  const { step, edits = [] } = action;
  const isGentle = step === "prune" || step === "shrink-turn";
  const result =
    step === "compact"
      ? await runCompaction(core, { trigger: "context_limit_recovery" }, signal)
      : commitStep(core, { name: "recover", reason: step }, isGentle ? withoutPinned(core, edits) : edits);
  // A new request or an answer that came in meanwhile has ended the recovery.
  if (result.status === "aborted" || memory.recovery === undefined) return result;
  if (step === "compact" && result.status === "applied") memory.recoveryCompactions++;
  advanceRecovery(core, step, result.status === "applied" ? "applied" : "nothing");
  return result;
}

function advanceRecovery(
  { memory }: SessionCore,
  step: Recover["step"],
  outcome: "applied" | "nothing",
): void {
  if (memory.recovery !== undefined) memory.recovery = afterStep(memory.recovery, step, outcome);
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

/** Bounds outputs of the window one after another. The whole text goes into the spill store, if there is one. */
async function boundOutputs(
  { history, options, ports, memory }: SessionCore,
  handles: readonly Handle[],
  signal: AbortSignal,
): Promise<readonly Edit[]> {
  const wanted = new Set(handles);
  const { redaction, redactOutputs } = options;
  const recallTool = recallToolOf(options);
  const redact = redaction !== "off" && redactOutputs === "on" ? redaction : undefined;
  const edits: Edit[] = [];
  for (const message of history.transcript()) {
    for (const [partIndex, part] of message.parts.entries()) {
      const partHandle = handleOf(message, partIndex);
      if (part.type !== "tool" || !wanted.has(partHandle) || signal.aborted) continue;
      const text = outcomeText(part.outcome);
      const limits = memory.unbounded.get(partHandle);
      const bounded = await boundToolOutput(text, {
        signal,
        ...omitUndefined({ limits, store: ports.spills, redact, recallTool }),
      });
      if (bounded.cut === undefined) continue;
      // Without a store the transcript itself keeps the whole output, under the handle of the part.
      const shown =
        ports.spills === undefined ? `${bounded.text}\n${keptNotice(partHandle, recallTool)}` : bounded.text;
      const omittedChars = Math.max(0, text.length - shown.length);
      edits.push({
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: { ...part, outcome: withText(part.outcome, shown), cut: bounded.cut },
        stage: "tool-output",
        reason: "oversize",
        omitted: { chars: omittedChars, handle: bounded.handle ?? partHandle },
      });
    }
  }
  return edits;
}

function keptNotice(handle: Handle, recallTool: string | undefined): string {
  return `[Full output kept: handle ${handle}.${readingHint({}, recallTool)}]`;
}

/** The name that notices give to the tool that recalls; undefined where there is none. */
function recallToolOf({ recallTool }: SessionCore["options"]): string | undefined {
  const name: unknown = typeof recallTool === "function" ? recallTool() : recallTool;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** Asks for summaries of old tool results, or takes those that have arrived. Emits one start and one end. */
async function summarizeToolResults(core: SessionCore, signal: AbortSignal): Promise<RunResult> {
  const { memory, history, log, options, ports } = core;
  const whole = history.transcript();
  const transcript = whole.slice(startOfSummaries(core));
  log.emit({ type: "tool_summary_start", visibleResults: core.countedResults().length });
  let end: Omit<ToolSummaryEnd, "type"> = { archivedResults: 0, error: "failed" };
  try {
    const { redaction, summarizer, pins } = options;
    const { edits, pending, degraded } = await maybeSummarizeToolResults(transcript, {
      settings: {
        ...memory.settings,
        profile: options.profile,
        ...(redaction !== "off" && { redact: redaction }),
        ...omitUndefined({ pins: pinsWithHeld(pins, core.heldOutputs()), model: summarizer?.model }),
      },
      summarizer: ports.summarizer,
      clock: ports.clock,
      signal,
      pending: core.pending.list(),
    });
    if (signal.aborted) {
      end = { archivedResults: 0, error: "aborted" };
      return { status: "aborted" };
    }
    core.pending.replace(pending);
    const flags = degraded ? ({ degraded: true } as const) : {};
    const result = commitStep(
      core,
      { name: "summarize-tool-results", reason: "over-cutoff", ...flags },
      targetsUnchanged(edits, whole, history.transcript()) ? edits : [],
    );
    const archived = result.status === "applied" ? edits.filter(({ reason }) => reason === "archived") : [];
    end = { archivedResults: archived.length, ...flags };
    return result;
  } finally {
    log.emit({ type: "tool_summary_end", ...end });
  }
}

/** Where the part of the transcript begins that tool summaries have to do with: nothing before it is counted or merged. */
function startOfSummaries(core: SessionCore): number {
  const transcript = core.history.transcript();
  const concerned = new Set([
    ...core.countedResults().map(({ message }) => message.id),
    ...core
      .window()
      .marked.filter(isToolSummary)
      .map(({ id }) => id),
    ...core.pending.list().flatMap(({ batch }) => batch.results.map(({ messageId }) => messageId)),
  ]);
  const start = firstIndexOf(transcript, concerned) ?? 0;
  // A compaction can only be read whole.
  return transcript.slice(start).some(isOfCompaction) ? 0 : start;
}

/** True when every message that the edits name is the same as when they were decided: only then is a late result used. */
function targetsUnchanged(edits: readonly Edit[], then: Transcript, now: Transcript): boolean {
  return then === now || areSame(new Set(edits.flatMap(targetsOf)), then, now);
}
