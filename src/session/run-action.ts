import { errorText } from "../compaction/compact-error-text.ts";
import type { Edit } from "../transcript/edit.ts";
import { boundOutputs } from "./bound-outputs.ts";
import { afterStep } from "./recovery-state.ts";
import { runCompaction } from "./run-compaction.ts";
import type { RunResult } from "./run-result.ts";
import { runToolSummaries } from "./run-tool-summaries.ts";
import type { Recover, SessionAction } from "./session-action.ts";
import type { SessionCore, Step } from "./session-core.ts";
import { sparePins } from "./spare-pins.ts";
import { isStillSo } from "./still-so.ts";

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
    if (action.type === "recover") climbOn(core, action.step);
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
      const transcript = core.line.transcript();
      const edits = await boundOutputs(core, action.handles, signal);
      if (signal.aborted) return { status: "aborted" };
      const current = edits.filter((edit) => isStillSo([edit], transcript, core.line.transcript()));
      return settle(core, { name: action.type, reason: "over-limit", unseen: true }, current);
    }
    case "prune":
    case "supersede":
      return settle(
        core,
        { name: action.type, reason: action.reason, arithmetic: action.arithmetic },
        spared(core, action.edits),
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
    result = settle(core, step, edits);
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
      : settle(core, { name: "recover", reason: step }, isGentle ? spared(core, edits) : edits);
  // A new request or an answer that came in meanwhile has ended the recovery.
  if (result.status === "aborted" || memory.recovery === undefined) return result;
  if (step === "compact" && result.status === "applied") memory.recoveryCompactions++;
  climbOn(core, step);
  return result;
}

function climbOn({ memory }: SessionCore, step: Recover["step"]): void {
  if (memory.recovery !== undefined) memory.recovery = afterStep(memory.recovery, step);
  memory.version++;
}

/** Puts edits in force, or remembers that there were none at this state. */
function settle(core: SessionCore, step: Step, edits: readonly Edit[]): RunResult {
  const { memory } = core;
  const committed = edits.length === 0 ? undefined : core.commit(step, edits);
  if (committed !== undefined) return { status: "applied", batch: committed.batch };
  memory.spent.set(step.name, memory.version);
  return { status: "nothing", reason: edits.length === 0 ? "no edits" : "messages are gone" };
}

function spared({ options, line }: SessionCore, edits: readonly Edit[]): readonly Edit[] {
  return sparePins(edits, options.pins ?? [], line.find);
}
