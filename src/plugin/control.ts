import { createLease, leaseRecordId, readLease } from "../fork/life/lease.ts";
import { currentRun, isLive } from "../fork/life/record.ts";
import type { RecordFound, RecordState } from "../fork/life/record-store.ts";
import { currentProcess } from "../stores/files/process-identity.ts";
import { plural } from "../text/format-number.ts";
import type { Feature, PluginContext } from "./context/context.ts";
import type { Forks } from "./forks/forks.ts";
import {
  type ControlAnswer,
  type ControlRequest,
  type ControlStore,
  type ControlWant,
  isRunning,
  LEASE_MS,
  type PluginLease,
  readControlRequest,
} from "./stores/control-store.ts";
import type { OwnCompaction } from "./window/own-compaction.ts";
import type { PruneWindow } from "./window/prune.ts";

/** Answers requests of the command line: keeps a lease while it runs, and polls for requests before each model call and in between. */
export function createControlFeature(setup: ControlSetup): Feature {
  const { context, control, forks } = setup;
  const { lookMs, idleLookMs } = control.pace;
  const { instanceId } = forks.owner();
  let hasStarted = false;
  let lease: RecordState = "missing";
  let leased = "";
  let leasedAtMs = Number.NEGATIVE_INFINITY;
  let workedAtMs = context.now();
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  async function start(): Promise<void> {
    if (hasStarted) return;
    hasStarted = true;
    const listed = await control.instances.list();
    for (const { id, value, version } of listed.status === "listed" ? listed.records : []) {
      const other = readLease(value);
      if (other === undefined || !isRunning(other, control.now()))
        await control.instances.delete(id, version);
    }
  }

  /** Renews the lease of this instance when it is due or the logs that it writes have changed. */
  async function renew(): Promise<void> {
    const logs = context.stores.openLogs();
    const nowMs = context.now();
    if (nowMs - leasedAtMs < LEASE_MS && leased === logs.join("\n")) return;
    const value: PluginLease = {
      ...createLease({ instanceId, process: currentProcess() }, control.now()),
      logs,
    };
    const stored = await control.instances.put({ id: leaseRecordId(instanceId), value, expected: lease });
    if (stored.status === "conflict") lease = stored.actual;
    if (stored.status === "failed" && leasedAtMs === Number.NEGATIVE_INFINITY)
      context.notify.logOnce("warn", `the command line will not find this instance: ${stored.reason}`);
    if (stored.status === "stored") lease = stored.version;
    // After a conflict it is renewed at the next poll, after a failure when it is next due.
    if (stored.status === "conflict") return;
    [leasedAtMs, leased] = [nowMs, logs.join("\n")];
  }

  /** One poll at a time; calls made meanwhile share it. */
  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function lookNow(): Promise<void> {
    lookedAtMs = context.now();
    await start();
    await renew();
    const listed = await control.requests.list();
    if (listed.status === "failed") return;
    for (const found of listed.records) {
      const request = readControlRequest(found.value);
      if (request === undefined || control.now() - request.askedAtMs > FORGOTTEN_MS)
        await control.requests.delete(found.id, found.version);
      else if (request.state.status === "asked" && concerns(setup, request.want)) {
        const taken = take(request, found).catch(report);
        // The next request of the model must show what was taken back; stopping a fork may take its time.
        if (request.want.type === "undo") await taken;
      }
    }
  }

  /** The conversation does not wait long for a store that does not answer. */
  async function lookInTime(): Promise<void> {
    workedAtMs = context.now();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, HANDLER_MS);
    });
    await Promise.race([look(), late]).finally(() => clearTimeout(timer));
  }

  const isResting = (): boolean =>
    context.now() - workedAtMs > WORKING_MS && !forks.keeper.all().some((fork) => isLive(currentRun(fork)));

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
    if (!isResting() || context.now() - lookedAtMs >= idleLookMs) look().catch(report);
  }, lookMs);
  timer.unref?.();

  return {
    name: "control",
    async beforeRequest() {
      await lookInTime();
      return undefined;
    },
    async onSignal({ type }) {
      if (type === "ready" || type === "idle") await lookInTime();
    },
    async dispose() {
      clearInterval(timer);
      const id = leaseRecordId(instanceId);
      const stored = await control.instances.get(id);
      if (stored.status === "found") await control.instances.delete(id, stored.version);
    },
  };
}

interface ControlSetup {
  readonly context: PluginContext;
  readonly control: ControlStore;
  readonly forks: Forks;
  readonly pruning: PruneWindow;
  readonly compaction: OwnCompaction;
}

/** How long after a request of the model a plugin counts as working. */
const WORKING_MS = 60_000;
const HANDLER_MS = 3_000;
/** A request older than this is deleted: its sender has given up. */
const FORGOTTEN_MS = 10 * 60_000;
const STOP_MS = 10_000;

function concerns({ forks, pruning, compaction }: ControlSetup, want: ControlWant): boolean {
  if (want.type !== "undo") return forks.keeper.get(want.forkId) !== undefined;
  return pruning.isOpen(want.sessionId) || compaction.isOpen(want.sessionId);
}

async function answerTo(setup: ControlSetup, want: ControlWant): Promise<ControlAnswer> {
  try {
    switch (want.type) {
      case "cancel-fork":
        return await cancelFork(setup, want.forkId);
      case "open-fork":
        return await openFork(setup, want.forkId);
      case "undo":
        return await undo(setup, want.sessionId);
    }
  } catch (cause) {
    return { outcome: "failed", text: `It failed: ${String(cause)}` };
  }
}

async function cancelFork({ forks }: ControlSetup, forkId: string): Promise<ControlAnswer> {
  const record = forks.keeper.get(forkId);
  if (record === undefined || !isLive(currentRun(record)))
    return { outcome: "nothing", text: `Fork ${forkId} had ended already.` };
  await forks.keeper.dispatch(forkId, { type: "cancel-asked", reason: "stopped from the command line" });
  const run = await forks.waitForEnd(forkId, { limitMs: STOP_MS, signal: new AbortController().signal });
  return {
    outcome: "done",
    text: run === undefined ? `Fork ${forkId} is being stopped.` : `Fork ${forkId} is ${run.state}.`,
  };
}

async function openFork({ context, forks }: ControlSetup, forkId: string): Promise<ControlAnswer> {
  const sessionId = forks.keeper.get(forkId)?.childSessionId;
  if (sessionId === undefined)
    return { outcome: "nothing", text: `Fork ${forkId} has no session yet: it is queued.` };
  const opened = await context.host.screen.open(sessionId);
  return opened === "opened"
    ? { outcome: "done", text: `Fork ${forkId} is on the screen.` }
    : {
        outcome: "failed",
        text: `Fork ${forkId} could not be brought to a screen from here: type /forks in the terminal of its OpenCode.`,
      };
}

async function undo({ pruning, compaction }: ControlSetup, sessionId: string): Promise<ControlAnswer> {
  const compactedAtMs = await compaction.newestAtMs(sessionId);
  if (compactedAtMs !== undefined && compactedAtMs >= ((await pruning.newestAtMs(sessionId)) ?? 0)) {
    const undone = await compaction.undo(sessionId);
    const text = `Taken back: compaction, ${plural(undone?.messages ?? 0, "message")}. The next request shows them again.`;
    return { outcome: "done", text };
  }
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
