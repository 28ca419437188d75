import { errorText } from "../compaction/summary/text.ts";
import { maybeSummarizeToolResults } from "../compaction/tool-summaries/maybe-summarize-tool-results.ts";
import { isToolSummary } from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import { readingHint } from "../tool-output/notices.ts";
import { trimToolOutput } from "../tool-output/truncate-tool-content.ts";
import { handleOf, outcomeText } from "../transcript/content.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import { type Transcript, withText } from "../transcript/message.ts";
import type { Recover, RunResult, SessionAction } from "./action.ts";
import { keepBackupEdits, useBackupEdits } from "./backup-summary.ts";
import { callStage, stageLabel } from "./call-stage.ts";
import type { ToolSummaryEnd } from "./events.ts";
import { firstIndexOf, targetsOf } from "./history.ts";
import { pinsWithProtected, withoutPinned } from "./pinned.ts";
import type { SessionChange } from "./reduce.ts";
import { areSame, beginCompaction, runCompaction } from "./run-compaction.ts";
import type { Runtime, Step } from "./runtime.ts";
import { RUN_STAGE } from "./state.ts";
import type { SessionView } from "./view.ts";
import { isOfCompaction } from "./window.ts";

/** Runs an action through the ports. Never throws: whatever the ports do gives a value, and an abort changes nothing. */
export async function runAction(
  runtime: Runtime,
  action: SessionAction,
  signal: AbortSignal,
): Promise<RunResult> {
  if (!("version" in action)) return { status: "for-the-caller" };
  if (runtime.isRunning) return { status: "busy" };
  if (action.version !== runtime.state().version) return { status: "stale" };
  if (signal.aborted) return { status: "aborted" };
  runtime.isRunning = true;
  try {
    return await perform(runtime, action, signal);
  } catch (error) {
    // The same state must not lead to the same failure again.
    runtime.change({ type: "spent", step: action.type });
    if (action.type === "recover")
      runtime.change({ type: "recovery-advanced", step: action.step, outcome: "nothing" });
    return { status: "failed", reason: errorText(error) };
  } finally {
    runtime.isRunning = false;
    await runtime.log.written();
  }
}

type OwnAction = Extract<SessionAction, { readonly version: number }>;

async function perform(runtime: Runtime, action: OwnAction, signal: AbortSignal): Promise<RunResult> {
  switch (action.type) {
    case "trim-outputs": {
      const { transcript } = runtime.state().history;
      const edits = await trimOutputs(runtime, action.handles, signal);
      if (signal.aborted) return { status: "aborted" };
      const current = edits.filter((edit) => targetsUnchanged(runtime, [edit], transcript));
      return commitStep(runtime, { step: action.type, reason: "over-limit", unseen: true, edits: current });
    }
    case "run-stage":
      return runStage(runtime, action.stage, signal);
    case "keep-backup-summary":
      return keepBackup(runtime, action.reason);
    case "use-backup-summary": {
      const edits = useBackupEdits(runtime.view());
      return commitStep(runtime, { step: action.type, reason: action.reason, edits });
    }
    case "prune":
    case "supersede": {
      const { type: step, reason, waitTokens } = action;
      const edits = withoutPinned(runtime.view(), action.edits);
      return commitStep(runtime, { step, reason, edits, ...(reason === "pays" && { waitTokens }) });
    }
    case "summarize-tool-results":
      return summarizeToolResults(runtime, signal);
    case "begin-compaction":
      return beginCompaction(runtime);
    case "compact":
      return runCompaction(runtime, action, signal);
    case "recover":
      return recover(runtime, action, signal);
    default:
      action satisfies never;
      return { status: "nothing", reason: "unknown action" };
  }
}

/** Puts the edits of one stage in force, unless what they name has changed meanwhile. */
async function runStage(runtime: Runtime, index: number, signal: AbortSignal): Promise<RunResult> {
  const { transcript } = runtime.state().history;
  const edits = await callStage(runtime, index, signal);
  if (edits === undefined) return { status: "aborted" };
  const current = targetsUnchanged(runtime, edits, transcript) ? edits : [];
  return commitStep(runtime, {
    step: RUN_STAGE,
    reason: stageLabel(runtime.options, index),
    edits: current,
  });
}

/** Keeps a backup summary of what the newest block stands for; the one of the block before it is in it. */
function keepBackup(runtime: Runtime, reason: string): RunResult {
  const edits = keepBackupEdits(runtime.view());
  return commitStep(runtime, { step: "keep-backup-summary", reason, unseen: true, edits });
}

async function recover(runtime: Runtime, action: Recover, signal: AbortSignal): Promise<RunResult> {
  const { step, edits = [] } = action;
  if (step === "compact")
    return runCompaction(runtime, { trigger: "context_limit_recovery", isRecovering: true }, signal);
  const isGentle = step === "prune" || step === "shrink-turn";
  const current = isGentle ? withoutPinned(runtime.view(), edits) : edits;
  const result = commitStep(runtime, { step: "recover", reason: step, edits: current }, [
    { type: "recovery-advanced", step, outcome: "applied" },
  ]);
  if (result.status !== "applied") runtime.change({ type: "recovery-advanced", step, outcome: "nothing" });
  return result;
}

/** Puts edits in force, or remembers that there were none at this state. */
function commitStep(runtime: Runtime, step: Step, then: readonly SessionChange[] = []): RunResult {
  const { edits } = step;
  const committed = edits.length === 0 ? undefined : runtime.commit(step, then);
  if (committed !== undefined) return { status: "applied", batch: committed.batch };
  runtime.change({ type: "spent", step: step.step });
  return { status: "nothing", reason: edits.length === 0 ? "no edits" : "messages are gone" };
}

/** Trims outputs of the window one after another. The whole text goes into the output store, if there is one. */
async function trimOutputs(
  runtime: Runtime,
  handles: readonly Handle[],
  signal: AbortSignal,
): Promise<readonly Edit[]> {
  const wanted = new Set(handles);
  const { options, ports } = runtime;
  const { longOutputs, state } = runtime.view();
  const recallTool = recallToolOf(options);
  const edits: Edit[] = [];
  for (const message of state.history.transcript) {
    for (const [partIndex, part] of message.parts.entries()) {
      const partHandle = handleOf(message, partIndex);
      if (part.type !== "tool" || !wanted.has(partHandle) || signal.aborted) continue;
      const text = outcomeText(part.outcome);
      const limits = longOutputs.get(partHandle);
      const trimmed = await trimToolOutput(text, {
        signal,
        ...omitUndefined({ limits, store: ports.outputs, recallTool }),
      });
      if (trimmed.cut === undefined) continue;
      // Without a store the transcript itself keeps the whole output, under the handle of the part.
      const shown =
        ports.outputs === undefined ? `${trimmed.text}\n${keptNotice(partHandle, recallTool)}` : trimmed.text;
      const omittedChars = Math.max(0, text.length - shown.length);
      edits.push({
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: { ...part, outcome: withText(part.outcome, shown), cut: trimmed.cut },
        stage: "tool-output",
        reason: "oversize",
        omitted: { chars: omittedChars, handle: trimmed.handle ?? partHandle },
      });
    }
  }
  return edits;
}

function keptNotice(handle: Handle, recallTool: string | undefined): string {
  return `[Full output kept: handle ${handle}${readingHint({}, recallTool)}]`;
}

/** The name that notices give to the tool that recalls; undefined where there is none. */
function recallToolOf({ recallTool }: Runtime["options"]): string | undefined {
  const name: unknown = typeof recallTool === "function" ? recallTool() : recallTool;
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** Asks for summaries of old tool results, or takes those that have arrived. Emits one start and one end. */
async function summarizeToolResults(runtime: Runtime, signal: AbortSignal): Promise<RunResult> {
  const { log, options, ports, answers } = runtime;
  const view = runtime.view();
  const whole = view.state.history.transcript;
  const transcript = whole.slice(startOfSummaries(view, answers.list()));
  log.emit({ type: "tool_summary_start", visibleResults: view.countedResults.length });
  let end: Omit<ToolSummaryEnd, "type"> = { archivedResults: 0, error: "failed" };
  try {
    const { redaction, summarizer, pins } = options;
    const { edits, pending, degraded } = await maybeSummarizeToolResults(transcript, {
      settings: {
        ...view.state.settings,
        profile: options.profile,
        ...(redaction !== "off" && { redact: redaction }),
        ...omitUndefined({
          pins: pinsWithProtected(pins, view.protectedOutputs.kept),
          model: summarizer?.model,
        }),
      },
      summarizer: ports.summarizer,
      clock: ports.clock,
      signal,
      pending: answers.list(),
    });
    if (signal.aborted) {
      end = { archivedResults: 0, error: "aborted" };
      return { status: "aborted" };
    }
    answers.replace(pending);
    const flags = degraded ? ({ degraded: true } as const) : {};
    const result = commitStep(runtime, {
      step: "summarize-tool-results",
      reason: "over-cutoff",
      edits: targetsUnchanged(runtime, edits, whole) ? edits : [],
      ...flags,
    });
    const archived = result.status === "applied" ? edits.filter(({ reason }) => reason === "archived") : [];
    end = { archivedResults: archived.length, ...flags };
    return result;
  } finally {
    log.emit({ type: "tool_summary_end", ...end });
  }
}

/** Where the part of the transcript begins that tool summaries have to do with: nothing before it is counted or merged. */
function startOfSummaries(
  { state, window, countedResults }: SessionView,
  pending: ReturnType<Runtime["answers"]["list"]>,
): number {
  const { transcript } = state.history;
  const concerned = new Set([
    ...countedResults.map(({ message }) => message.id),
    ...window.marked.filter(isToolSummary).map(({ id }) => id),
    ...pending.flatMap(({ batch }) => batch.results.map(({ messageId }) => messageId)),
  ]);
  const start = firstIndexOf(transcript, concerned) ?? 0;
  // A compaction can only be read whole.
  return transcript.slice(start).some(isOfCompaction) ? 0 : start;
}

/** True when every message that the edits name is the same as when they were decided: only then is a late result used. */
function targetsUnchanged(runtime: Runtime, edits: readonly Edit[], then: Transcript): boolean {
  const now = runtime.state().history.transcript;
  return then === now || areSame(new Set(edits.flatMap(targetsOf)), then, now);
}
