import { setTimeout as sleep } from "node:timers/promises";
import { canAdopt, type InstanceLease, readLease } from "../../fork/life/lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../fork/life/record.ts";
import type { RecordFound, RecordList } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { processState } from "../../stores/files/process-identity.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { REQUEST_KEPT_MS } from "../stores/requests.ts";
import { readNewestNumber } from "./fork-numbers.ts";
import type { ForkSetup } from "./forks.ts";
import type { ForkKeeper } from "./keeper.ts";

/** Takes over forks that other instances left behind. */
interface ForkAdoption {
  /** Takes unfinished forks of instances that are gone; returns everything that is stored, or undefined where it cannot be read. */
  takeUnfinished(): Promise<RecordList | undefined>;
  /**
   * Takes the forks of a root to which the user speaks here: also those that are over and whose instance still runs, since
   * their results are wanted here. One that is being delivered stays where it is.
   */
  takeRoot(rootSessionId: string): Promise<void>;
}

export function createForkAdoption({ context, forks }: ForkSetup): ForkAdoption {
  const { keeper, store } = forks;
  const { instanceId } = forks.owner();

  async function find(): Promise<Found | undefined> {
    const listed = await store.list();
    if (listed.status === "failed") {
      context.notify.logOnce("warn", `the records of forks cannot be read: ${listed.reason}`);
      return undefined;
    }
    const leases = new Map<string, InstanceLease>();
    const ages = new Map<string, number>();
    const forksFound: FoundFork[] = [];
    for (const found of listed.records) {
      const lease = readLease(found.value);
      const record = lease === undefined ? readForkRecord(found.value) : undefined;
      if (lease !== undefined) leases.set(lease.instanceId, lease);
      if (record !== undefined) forksFound.push({ ...found, record });
      const { instanceId: owner } = lease ?? record?.owner ?? {};
      if (owner !== undefined && found.ageMs !== undefined)
        ages.set(owner, Math.min(found.ageMs, ages.get(owner) ?? found.ageMs));
    }
    const isGone = (record: ForkRecord): boolean => {
      const lease = leases.get(record.owner.instanceId);
      const process = processState(record.owner.process);
      const ageMs = ages.get(record.owner.instanceId);
      const sight = {
        instanceId,
        nowMs: context.stores.now(),
        process,
        ...(lease === undefined ? {} : { lease }),
        ...(ageMs === undefined ? {} : { ageMs }),
      };
      return canAdopt(record, sight);
    };
    return { listed, forks: forksFound, isGone };
  }

  /** A write that was reported as failed may have been stored all the same. */
  const isForgotten = ({ id, owner }: ForkRecord): boolean =>
    owner.instanceId === instanceId && keeper.get(id) === undefined;

  async function take({ record, version }: FoundFork): Promise<ForkRecord | undefined> {
    const taken = await keeper.adopt(record, version);
    if (taken?.childSessionId !== undefined) await forks.forkLinkOf(taken.childSessionId);
    return taken;
  }

  /** Deletes leases of programs that are gone and own no fork. */
  async function forgetInstances({ listed, forks: stored }: Found): Promise<void> {
    const owners = new Set(stored.map(({ record }) => record.owner.instanceId));
    for (const { id, value, version } of listed.records) {
      const lease = readLease(value);
      if (lease === undefined || owners.has(lease.instanceId)) continue;
      if (processState(lease.process) === "gone") await store.delete(id, version);
    }
  }

  /** Deletes the counters of root sessions that have no forks any more. */
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
      // Nothing is sent to these parents yet, so a missing one would not be noticed otherwise.
      for (const parent of parents) await closeForksOfMissingParent({ host: context.host, keeper }, parent);
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

/** True while a run is live or a result is not acknowledged. */
export function isUnfinished(record: ForkRecord): boolean {
  return record.runs.some((run) => isLive(run) || run.delivery.state !== "acked");
}

/** Records of finished forks are kept as long as what they inherited. */
export const KEPT_MS: number = REQUEST_KEPT_MS;

/** How long a message of the user waits until adopted children were checked. */
const LOOK_MS = 5_000;

interface FoundFork extends RecordFound {
  readonly record: ForkRecord;
}

interface Found {
  readonly listed: RecordList;
  readonly forks: readonly FoundFork[];
  isGone(record: ForkRecord): boolean;
}

/** Nothing runs and no result is being sent, so a conflict on the record is enough to keep two instances apart. */
function isAtRest({ runs }: ForkRecord): boolean {
  return runs.every((run) => !isLive(run) && run.delivery.state !== "sent");
}

/** Adopted, and its child was not checked yet. */
function isUnknown(record: ForkRecord, rootSessionId: string): boolean {
  const run = currentRun(record);
  return record.rootSessionId === rootSessionId && isLive(run) && run.adoption !== undefined;
}

/** Ends the forks of a parent session that is gone: their results would wait for ever. */
export async function closeForksOfMissingParent(
  { host, keeper }: { readonly host: AgentHost; readonly keeper: ForkKeeper },
  parentSessionId: string,
): Promise<void> {
  const answer = await host.sessions.get(parentSessionId);
  if (answer.status === "ok" || answer.code !== "missing") return;
  const left = keeper.all().filter((record) => record.parentSessionId === parentSessionId);
  await Promise.all(left.map(({ id }) => keeper.dispatch(id, { type: "parent-deleted" })));
}

function isOld(record: ForkRecord, nowMs: number): boolean {
  const run = currentRun(record);
  return !isLive(run) && nowMs - run.endedAtMs > KEPT_MS;
}
