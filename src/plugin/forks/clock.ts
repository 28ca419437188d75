import { createLease, HEARTBEAT_MS, leaseRecordId } from "../../fork/life/lease.ts";
import { currentRun, isLive } from "../../fork/life/record.ts";
import type { RecordList, RecordState } from "../../fork/life/record-store.ts";
import type { Feature } from "../context/context.ts";
import { createForkAdoption, isUnfinished, KEPT_MS } from "./adopt-forks.ts";
import type { ForkSetup } from "./forks.ts";
import { rebuildForks } from "./rebuild-forks.ts";

/** Every second: ticks for unfinished forks (limits, retries), the lease of this instance, and adoption of forks whose instance is gone. */
export function createForkClockFeature({ context, forks }: ForkSetup): Feature {
  const { keeper, store } = forks;
  const { instanceId, process } = forks.owner();
  const left = createForkAdoption({ context, forks });
  const reported = new Set<string>();
  let lease: RecordState = "missing";
  let beatAtMs = Number.NEGATIVE_INFINITY;
  let adoptedAtMs = Number.NEGATIVE_INFINITY;
  let isBeating = false;
  let hasRebuilt = false;
  let hasFailed = false;

  async function beat(): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    try {
      const now = context.now();
      if (now - adoptedAtMs >= ADOPT_MS) {
        adoptedAtMs = now;
        await adopt();
      }
      for (const record of keeper.all()) forks.shown.update(record);
      const waiting = keeper.all().filter(isUnfinished);
      for (const record of waiting) void keeper.dispatch(record.id, { type: "tick" });
      if (waiting.length > 0 && now - beatAtMs >= HEARTBEAT_MS) {
        beatAtMs = now;
        await keeper.flush();
        const value = createLease({ instanceId, process }, context.stores.now());
        const stored = await store.put({ id: leaseRecordId(instanceId), value, expected: lease });
        if (stored.status === "stored") lease = stored.version;
        else if (stored.status === "conflict") lease = stored.actual;
        else if (!hasFailed)
          context.notify.log("warn", `this instance could not give a sign of life: ${stored.reason}`);
        hasFailed = stored.status === "failed";
      }
    } finally {
      isBeating = false;
    }
  }

  /** Adopts forks whose program is gone; once, rebuilds records that were lost. */
  async function adopt(): Promise<void> {
    const listed = await left.takeUnfinished();
    if (listed === undefined) return;
    report(listed);
    if (hasRebuilt) return;
    const sinceMs = context.now() - KEPT_MS;
    hasRebuilt = (await rebuildForks({ context, forks, listed, sinceMs })) === "done";
  }

  function report({ problems }: RecordList): void {
    for (const { id, place, reason } of problems) {
      if (reported.has(place)) continue;
      reported.add(place);
      const message = `the record ${id ?? place} of a fork cannot be read and was set aside: ${reason}`;
      context.notify.log("error", message);
    }
  }

  const timer = setInterval(() => {
    beat().catch((cause: unknown) =>
      context.notify.log("error", "fork clock failed", { cause: String(cause) }),
    );
  }, TICK_MS);
  timer.unref?.();
  return {
    name: "fork clock",
    async onSignal(signal) {
      if (signal.type === "ready") await beat();
    },
    async dispose() {
      clearInterval(timer);
      const live = keeper.all().filter((record) => isLive(currentRun(record)));
      await Promise.all(live.map((record) => keeper.dispatch(record.id, { type: "owner-leaving" })));
      await keeper.flush();
      if (typeof lease === "number") await store.delete(leaseRecordId(instanceId), lease);
    },
  };
}

const TICK_MS = 1_000;
/** Between two adoptions. */
const ADOPT_MS = 30_000;
