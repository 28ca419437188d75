import { currentProcess, processState } from "../../../stores/files/process-identity.ts";
import { createLease, leaseRecordId, readLease } from "../../../tasks/fork-lease.ts";
import { currentRun, isLive } from "../../../tasks/fork-record.ts";
import type { RecordFound } from "../../../tasks/record-store.ts";
import type { Feature } from "../combine-hooks.ts";
import type { Forks } from "../forks/create-forks.ts";
import type { PluginContext } from "../plugin-context.ts";
import {
  type ControlAnswer,
  type ControlRequest,
  type ControlStore,
  type ControlWant,
  readControlRequest,
} from "./control-store.ts";
import type { PruneWindow } from "./prune-window.ts";

/** Does what a person asks for from another process: says that it runs, and looks for requests before each model call and every second. */
export function createControlFeature(setup: ControlSetup): Feature {
  const { context, control } = setup;
  const { instanceId } = setup.forks.owner();
  let hasStarted = false;
  let looking: Promise<void> | undefined;

  async function start(): Promise<void> {
    if (hasStarted) return;
    hasStarted = true;
    const listed = await control.instances.list();
    for (const { id, value, version } of listed.status === "listed" ? listed.records : []) {
      const lease = readLease(value);
      const isGone = lease === undefined || processState(lease.process) === "gone";
      if (isGone) await control.instances.delete(id, version);
    }
    const value = createLease({ instanceId, process: currentProcess() }, context.stores.now());
    const stored = await control.instances.put({ id: leaseRecordId(instanceId), value, expected: "missing" });
    if (stored.status === "failed")
      context.notify.log("warn", `the command line will not find this instance: ${stored.reason}`);
  }

  /** One look at a time; whoever asks meanwhile waits for the same one. */
  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function lookNow(): Promise<void> {
    await start();
    const listed = await control.requests.list();
    if (listed.status === "failed") return;
    for (const found of listed.records) {
      const request = readControlRequest(found.value);
      if (request === undefined || context.now() - request.askedAtMs > FORGOTTEN_MS)
        await control.requests.delete(found.id, found.version);
      else if (request.state.status === "asked" && concerns(setup, request.want)) {
        const taken = take(request, found).catch(report);
        // The next request is to show what was taken back; a fork that takes its time to stop holds nobody up.
        if (request.want.type === "undo") await taken;
      }
    }
  }

  async function take(request: ControlRequest, { id, version }: RecordFound): Promise<void> {
    const taken = await control.requests.put({
      id,
      value: { ...request, state: { status: "taken" } } satisfies ControlRequest,
      expected: version,
    });
    // It was withdrawn, or another instance was faster.
    if (taken.status !== "stored") return;
    const answer = await answerTo(setup, request.want);
    await control.requests.put({
      id,
      value: { ...request, state: { status: "answered", ...answer } } satisfies ControlRequest,
      expected: taken.version,
    });
    context.notify.log("info", `asked from outside: ${answer.text}`, { ...request.want });
  }

  function report(cause: unknown): void {
    context.notify.log("error", "control failed", { cause: String(cause) });
  }

  const timer = setInterval(() => {
    look().catch(report);
  }, LOOK_MS);
  timer.unref?.();

  return {
    name: "control",
    hooks: {
      "experimental.chat.messages.transform": () => look(),
      event: async ({ event }) => {
        if (!hasStarted || event.type === "session.idle") await look();
      },
      dispose: async () => {
        clearInterval(timer);
        const id = leaseRecordId(instanceId);
        const lease = await control.instances.get(id);
        if (lease.status === "found") await control.instances.delete(id, lease.version);
      },
    },
  };
}

export interface ControlSetup {
  readonly context: PluginContext;
  readonly control: ControlStore;
  readonly forks: Forks;
  readonly pruning: PruneWindow;
}

const LOOK_MS = 1_000;
/** Nobody waits for an answer for so long. */
const FORGOTTEN_MS = 10 * 60_000;
const STOP_MS = 10_000;

function concerns({ forks, pruning }: ControlSetup, want: ControlWant): boolean {
  return want.type === "cancel-fork"
    ? forks.keeper.get(want.forkId) !== undefined
    : pruning.isOpen(want.sessionId);
}

async function answerTo(setup: ControlSetup, want: ControlWant): Promise<ControlAnswer> {
  try {
    return want.type === "cancel-fork"
      ? await cancelFork(setup, want.forkId)
      : await undo(setup, want.sessionId);
  } catch (cause) {
    return { outcome: "failed", text: `It failed: ${String(cause)}` };
  }
}

async function cancelFork({ forks }: ControlSetup, forkId: string): Promise<ControlAnswer> {
  const record = forks.keeper.get(forkId);
  if (record === undefined || !isLive(currentRun(record)))
    return { outcome: "nothing", text: `Fork ${forkId} had ended already.` };
  await forks.keeper.tell(forkId, { type: "cancel-asked", reason: "stopped from the command line" });
  const run = await forks.waitForEnd(forkId, { limitMs: STOP_MS, signal: new AbortController().signal });
  return {
    outcome: "done",
    text: run === undefined ? `Fork ${forkId} is being stopped.` : `Fork ${forkId} is ${run.state}.`,
  };
}

async function undo({ pruning }: ControlSetup, sessionId: string): Promise<ControlAnswer> {
  for (let attempt = 1; ; attempt++) {
    const undone = await pruning.undo(sessionId);
    if (undone?.status === "undone") {
      const { step, edits } = undone.batch;
      const text = `Taken back: ${step}, ${edits.length} edits. The next request shows them again.`;
      return { outcome: "done", text };
    }
    if (undone?.status !== "busy") return { outcome: "nothing", text: "No edit of ours is in force." };
    if (attempt === BUSY_ATTEMPTS) return { outcome: "failed", text: "The session is busy; try again." };
    await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
  }
}

const BUSY_ATTEMPTS = 20;
const BUSY_MS = 100;
