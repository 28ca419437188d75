import { setTimeout as sleep } from "node:timers/promises";
import { processState } from "../../../stores/files/process-identity.ts";
import { canAdopt, type InstanceLease, readLease } from "../../../tasks/fork-lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../../tasks/fork-record.ts";
import { readForkRecord } from "../../../tasks/read-fork-record.ts";
import type { RecordFound, RecordList } from "../../../tasks/record-store.ts";
import { VIEW_KEPT_MS } from "../capture/view-store.ts";
import { closeLostParent } from "../delivery/close-lost-parent.ts";
import type { PluginContext } from "../plugin-context.ts";
import type { Forks } from "./create-forks.ts";
import { readNewestNumber } from "./fork-numbers.ts";

/** Finds the forks that other instances have left, and makes them ours. */
export interface LeftForks {
  /** Takes what is not over of instances that are gone; gives all that is stored, or nothing where it cannot be read. */
  takeUnfinished(): Promise<RecordList | undefined>;
  /**
   * Takes the forks of a root to which the user speaks here: also those that are over and whose instance still runs, since
   * their results are wanted here. One that is being delivered stays where it is.
   */
  takeRoot(rootSessionId: string): Promise<void>;
}

export function createLeftForks({ context, forks }: LeftForksSetup): LeftForks {
  const { keeper, store } = forks;
  const { instanceId } = forks.owner();

  async function find(): Promise<Found | undefined> {
    const listed = await store.list();
    if (listed.status === "failed") {
      context.notify.log("warn", `the records of forks cannot be read: ${listed.reason}`);
      return undefined;
    }
    const leases = new Map<string, InstanceLease>();
    const forksFound: FoundFork[] = [];
    for (const found of listed.records) {
      const lease = readLease(found.value);
      const record = lease === undefined ? readForkRecord(found.value) : undefined;
      if (lease !== undefined) leases.set(lease.instanceId, lease);
      if (record !== undefined) forksFound.push({ ...found, record });
    }
    const isGone = (record: ForkRecord): boolean => {
      const lease = leases.get(record.owner.instanceId);
      const process = processState(record.owner.process);
      const sight = {
        instanceId,
        nowMs: context.stores.now(),
        process,
        ...(lease === undefined ? {} : { lease }),
      };
      return canAdopt(record, sight);
    };
    return { listed, forks: forksFound, isGone };
  }

  /** A write of ours that was taken for failed may have made a fork ours without our knowing. */
  const isForgotten = ({ id, owner }: ForkRecord): boolean =>
    owner.instanceId === instanceId && keeper.get(id) === undefined;

  async function take({ record, version }: FoundFork): Promise<ForkRecord | undefined> {
    const taken = await keeper.adopt(record, version);
    if (taken?.childSessionId !== undefined) await forks.bonds.bondOf(taken.childSessionId);
    return taken;
  }

  /** Signs of life of programs that are gone and own nothing. */
  async function forgetInstances({ listed, forks: stored }: Found): Promise<void> {
    const owners = new Set(stored.map(({ record }) => record.owner.instanceId));
    for (const { id, value, version } of listed.records) {
      const lease = readLease(value);
      if (lease === undefined || owners.has(lease.instanceId)) continue;
      if (processState(lease.process) === "gone") await store.delete(id, version);
    }
  }

  /** Numbers of roots that have no forks any more, and get none either. */
  async function forgetNumbers({ listed, forks: stored }: Found): Promise<void> {
    const roots = new Set(stored.map(({ record }) => record.rootSessionId));
    for (const { id, value, version } of listed.records) {
      const newest = readNewestNumber(value);
      if (newest === undefined || roots.has(newest.rootSessionId)) continue;
      if (context.now() - newest.atMs > KEPT_MS) await store.delete(id, version);
    }
  }

  return {
    async takeUnfinished() {
      const found = await find();
      if (found === undefined) return undefined;
      const parents = new Set<string>();
      for (const fork of found.forks) {
        const { record } = fork;
        const ours = keeper.get(record.id);
        if (ours !== undefined && isOld(ours, context.now())) {
          await keeper.remove(record.id);
          continue;
        }
        if (!isForgotten(record) && !found.isGone(record)) continue;
        if (isOld(record, context.now())) await store.delete(record.id, fork.version);
        else if (isUnfinished(record) && (await take(fork)) !== undefined)
          parents.add(record.parentSessionId);
      }
      await forgetInstances(found);
      await forgetNumbers(found);
      // Nothing looks at a parent to which nothing may be sent yet, so one that is gone would never be noticed.
      for (const parent of parents) await closeLostParent({ calls: context.calls, keeper }, parent);
      return found.listed;
    },
    async takeRoot(rootSessionId) {
      const found = await find();
      const ofRoot = found?.forks.filter(({ record }) => record.rootSessionId === rootSessionId) ?? [];
      const wanted = ofRoot.filter(
        ({ record }) =>
          isForgotten(record) ||
          (record.owner.instanceId !== instanceId && (found?.isGone(record) === true || isAtRest(record))),
      );
      await Promise.all(wanted.map(take));
      const untilMs = context.now() + LOOK_MS;
      while (context.now() < untilMs && keeper.all().some((record) => isUnknown(record, rootSessionId)))
        await sleep(50);
    },
  };
}

export interface LeftForksSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** True while something of a fork is still to be done: a run, or the delivery of a result. */
export function isUnfinished(record: ForkRecord): boolean {
  return record.runs.some((run) => isLive(run) || run.delivery.state !== "acked");
}

/** Records of forks that are over are kept as long as what they inherited. */
export const KEPT_MS: number = VIEW_KEPT_MS;

/** How long a message of the user waits for a look at the children of a program that is gone. */
const LOOK_MS = 5_000;

interface FoundFork extends RecordFound {
  readonly record: ForkRecord;
}

interface Found {
  readonly listed: RecordList;
  readonly forks: readonly FoundFork[];
  isGone(record: ForkRecord): boolean;
}

/** Nothing runs, and nothing is on its way: whoever stores the next step of it first does that step alone. */
function isAtRest({ runs }: ForkRecord): boolean {
  return runs.every((run) => !isLive(run) && run.delivery.state !== "sent");
}

/** Taken over, and what became of its child is not known yet. */
function isUnknown(record: ForkRecord, rootSessionId: string): boolean {
  const run = currentRun(record);
  return record.rootSessionId === rootSessionId && isLive(run) && run.adoption !== undefined;
}

function isOld(record: ForkRecord, nowMs: number): boolean {
  const run = currentRun(record);
  return !isLive(run) && nowMs - run.endedAtMs > KEPT_MS;
}
