import { processState } from "../../../stores/files/process-identity.ts";
import { canAdopt, createLease, HEARTBEAT_MS, leaseRecordId, readLease } from "../../../tasks/fork-lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../../tasks/fork-record.ts";
import { readForkRecord } from "../../../tasks/read-fork-record.ts";
import type { RecordFound, RecordState } from "../../../tasks/record-store.ts";
import type { Feature } from "../combine-hooks.ts";
import type { PluginContext } from "../plugin-context.ts";
import type { Forks } from "./create-forks.ts";
import { rebuildForks } from "./rebuild-forks.ts";

/** Brings time to the forks: signs of life of this instance, limits, and the forks of instances that are gone. */
export function createForkClockFeature({ context, forks }: ForkClockSetup): Feature {
  const { keeper, store } = forks;
  const { instanceId, process } = forks.owner();
  let lease: RecordState = "missing";
  let beatAtMs = Number.NEGATIVE_INFINITY;
  let adoptedAtMs = Number.NEGATIVE_INFINITY;
  let isBeating = false;
  let hasRebuilt = false;

  async function beat(): Promise<void> {
    if (isBeating) return;
    isBeating = true;
    try {
      const now = context.now();
      if (now - adoptedAtMs >= ADOPT_MS) {
        adoptedAtMs = now;
        await adopt();
      }
      const waiting = keeper.all().filter(isWaiting);
      for (const record of waiting) void keeper.tell(record.id, { type: "tick" });
      if (waiting.length > 0 && now - beatAtMs >= HEARTBEAT_MS) {
        beatAtMs = now;
        await keeper.flush();
        const value = createLease({ instanceId, process }, now);
        const stored = await store.put({ id: leaseRecordId(instanceId), value, expected: lease });
        if (stored.status === "stored") lease = stored.version;
        else if (stored.status === "conflict") lease = stored.actual;
      }
    } finally {
      isBeating = false;
    }
  }

  /** Takes over the forks whose program is gone, and gets to know those that are over. */
  async function adopt(): Promise<void> {
    const listed = await store.list();
    if (listed.status === "failed") return;
    for (const { id, place, reason } of listed.problems) {
      context.notify.log(
        "error",
        `the record ${id ?? place} of a fork cannot be read and was set aside: ${reason}`,
      );
    }
    const stored = new Map<string, RecordState>([
      ...listed.records.map(({ id, version }) => [id, version] as const),
      ...listed.problems.flatMap(({ id }) => (id === undefined ? [] : [[id, "corrupt"] as const])),
    ]);
    const leases = new Map(listed.records.flatMap(({ value }) => withId(readLease(value))));
    for (const found of listed.records) {
      const record = readForkRecord(found.value);
      if (record === undefined || keeper.get(record.id) !== undefined) continue;
      const known = leases.get(record.owner.instanceId);
      const isLost = canAdopt(record, {
        instanceId,
        nowMs: context.now(),
        process: processState(record.owner.process),
        ...(known === undefined ? {} : { lease: known }),
      });
      if (!isLost) continue;
      if (isOld(record, context.now())) await store.delete(record.id, found.version);
      else await takeOver(record, found);
    }
    if (hasRebuilt) return;
    hasRebuilt = true;
    await rebuildForks({ context, forks, stored, sinceMs: context.now() - KEPT_MS });
  }

  async function takeOver(record: ForkRecord, { version }: RecordFound): Promise<void> {
    keeper.take(record, version);
    if (record.childSessionId !== undefined) await forks.bonds.bondOf(record.childSessionId);
    if (isWaiting(record)) await keeper.tell(record.id, { type: "adopted", owner: forks.owner() });
  }

  const timer = setInterval(() => {
    beat().catch((cause: unknown) =>
      context.notify.log("error", "fork clock failed", { cause: String(cause) }),
    );
  }, TICK_MS);
  timer.unref?.();
  return {
    name: "fork clock",
    hooks: {
      // The host takes no calls while it loads its plugins; the first event says that it runs.
      event: async () => {
        if (adoptedAtMs === Number.NEGATIVE_INFINITY) await beat();
      },
      dispose: async () => {
        clearInterval(timer);
        const live = keeper.all().filter((record) => isLive(currentRun(record)));
        await Promise.all(live.map((record) => keeper.tell(record.id, { type: "owner-leaving" })));
        await keeper.flush();
      },
    },
  };
}

export interface ForkClockSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

const TICK_MS = 1_000;
/** Between two looks for forks of instances that are gone. */
const ADOPT_MS = 30_000;
/** Records of forks that are over are kept as long as what they inherited. */
const KEPT_MS = 14 * 24 * 3_600_000;

function isWaiting(record: ForkRecord): boolean {
  return record.runs.some((run) => isLive(run) || run.delivery.state !== "acked");
}

function isOld(record: ForkRecord, nowMs: number): boolean {
  const run = currentRun(record);
  return !isLive(run) && nowMs - run.endedAtMs > KEPT_MS;
}

function withId<Lease extends { readonly instanceId: string }>(
  lease: Lease | undefined,
): readonly (readonly [string, Lease])[] {
  return lease === undefined ? [] : [[lease.instanceId, lease]];
}
