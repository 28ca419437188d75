import { setTimeout as sleep } from "node:timers/promises";
import { readForkTraces } from "../../fork/life/find-undone.ts";
import {
  canAdopt,
  createLease,
  HEARTBEAT_MS,
  type InstanceLease,
  leaseRecordId,
  readLease,
} from "../../fork/life/lease.ts";
import { type ForkMetadata, readForkMetadata, rebuildForkRecord } from "../../fork/life/rebuild-record.ts";
import { currentRun, deliveryId, type ForkRecord, isLive } from "../../fork/life/record.ts";
import type { RecordFound, RecordList, RecordState } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { processState } from "../../stores/files/exclusive-access.ts";
import type { Feature } from "../context/context.ts";
import type { AgentHost, SessionFacts } from "../host/agent-host.ts";
import { VIEW_KEPT_MS } from "../stores/views.ts";
import { type ForkSetup, readNewestNumber } from "./forks.ts";
import type { ForkKeeper } from "./keeper.ts";

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
export const KEPT_MS: number = VIEW_KEPT_MS;

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

function isOld(record: ForkRecord, nowMs: number): boolean {
  const run = currentRun(record);
  return !isLive(run) && nowMs - run.endedAtMs > KEPT_MS;
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

/**
 * Rebuilds the records of children whose record is missing or damaged and whose result is still owed to their parent, from
 * the notes on their sessions. Any other child is left alone: its record may have been purged on purpose.
 */
export async function rebuildForks({
  context,
  forks,
  listed,
  sinceMs,
}: RebuildInput): Promise<"done" | "not-done"> {
  const sessions = await context.host.sessions.list({ sinceMs });
  if (sessions.status === "failed") return "not-done";
  const stored = statesOf(listed);
  const numbers = numbersIn(listed);
  const isOwed = createOwedLook(context.host);
  let outcome: "done" | "not-done" = "done";
  for (const session of sessions.value) {
    const link = readForkMetadata(session.note);
    const expected = link === undefined ? undefined : (stored.get(link.id) ?? "missing");
    if (link === undefined || expected === undefined || typeof expected === "number") continue;
    const isOld = (session.updatedAtMs ?? 0) < sinceMs;
    if (isOld || forks.keeper.get(link.id) !== undefined) continue;
    const owed = await isOwed(link);
    if (owed === "unknown") outcome = "not-done";
    if (owed === "owed") await rebuild({ context, forks, session, link, expected, numbers });
  }
  return outcome;
}

interface RebuildInput extends ForkSetup {
  /** Everything that is stored. */
  readonly listed: RecordList;
  /** Sessions that were not used since are left alone. */
  readonly sinceMs: number;
}

/** Whether the conversation of the parent still waits for the newest run of a child; each parent is read once. */
function createOwedLook({
  sessions,
  format,
}: AgentHost): (link: ForkMetadata) => Promise<"owed" | "not-owed" | "unknown"> {
  const parents = new Map<string, ReturnType<typeof readParent>>();
  async function readParent(sessionId: string) {
    const read = await sessions.read(sessionId);
    if (read.status === "failed") return read.code === "missing" ? "not-owed" : "unknown";
    const { messages, undone = [] } = read.value;
    return [messages, undone].map((each) => readForkTraces(format.decode(each)));
  }
  return async (link) => {
    const asked = parents.get(link.parent) ?? readParent(link.parent);
    parents.set(link.parent, asked);
    const traces = await asked;
    if (typeof traces === "string") return traces;
    const { askedBy } = link;
    const wasDelivered = traces.some(({ deliveries }) => deliveries.has(deliveryId(link, link.run)));
    const isAskedFor = askedBy === undefined || traces.some(({ hasCall }) => hasCall(askedBy));
    return isAskedFor && !wasDelivered ? "owed" : "not-owed";
  };
}

async function rebuild({ context, forks, session, link, expected, numbers }: LostChild): Promise<void> {
  const { id, title, agent, model, costUSD, createdAtMs = context.now(), updatedAtMs } = session;
  const isTaken = numbers.has(`${link.root} ${link.number}`);
  const number = isTaken ? await forks.numbers.take(link.root) : link.number;
  const step = rebuildForkRecord({
    metadata: link,
    session: {
      id,
      title: title.replace(CHILD_TITLE, ""),
      createdAtMs,
      ...(updatedAtMs !== undefined && { updatedAtMs }),
      agent,
      providerId: model?.provider ?? "",
      modelId: model?.id ?? "",
      costUSD,
    },
    owner: forks.owner(),
    number,
    atMs: context.now(),
  });
  if ((await forks.keeper.add({ ...step, expected })) === "not-kept") return;
  numbers.add(`${link.root} ${number}`);
  context.notify.log("warn", `the record of fork ${number} was lost and was rebuilt from its session`);
}

const CHILD_TITLE = /^Fork \d+: /;

interface LostChild extends ForkSetup {
  readonly session: SessionFacts;
  readonly link: ForkMetadata;
  readonly expected: RecordState;
  /** Root and number of the known forks. */
  readonly numbers: Set<string>;
}

function statesOf({ records, problems }: RecordList): ReadonlyMap<string, RecordState> {
  return new Map<string, RecordState>([
    ...records.map(({ id, version }) => [id, version] as const),
    ...problems.flatMap(({ id }) => (id === undefined ? [] : [[id, "corrupt"] as const])),
  ]);
}

function numbersIn({ records }: RecordList): Set<string> {
  const forks = records.flatMap(({ value }) => readForkRecord(value) ?? []);
  return new Set(forks.map(({ rootSessionId, number }) => `${rootSessionId} ${number}`));
}
