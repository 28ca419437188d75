import { advanceFork } from "../../fork/life/advance.ts";
import type { ForkAction, ForkEvent } from "../../fork/life/events.ts";
import type { ForkLimits } from "../../fork/life/limits.ts";
import { currentRun, type ForkError, type ForkOwner, type ForkRecord } from "../../fork/life/record.ts";
import type { RecordState, RecordStore } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { type RedactOptions, redactSecrets } from "../../text/secrets/redact-secrets.ts";
import type { PluginContext } from "../context/context.ts";

/** The records of the forks that this instance owns. Every change goes through `dispatch`, which stores it before anything follows from it. */
export interface ForkKeeper {
  /** Stores a new or rebuilt fork and performs its actions; a fork that cannot be stored is dropped. */
  add(step: NewRecord): Promise<"kept" | "not-kept">;
  /** Takes a stored fork over, unless it was changed since it was read; returns the record if this instance owns it now. */
  adopt(record: ForkRecord, version: number): Promise<ForkRecord | undefined>;
  /** Applies an event and resolves once the new record is stored; undefined if it could not be, or the fork is not ours. Actions run in the background. */
  dispatch(forkId: string, event: NewEvent): Promise<ForkChange | undefined>;
  get(forkId: string): ForkRecord | undefined;
  ofChild(childSessionId: string): ForkRecord | undefined;
  all(): readonly ForkRecord[];
  /** Deletes a fork of ours. */
  remove(forkId: string): Promise<void>;
  /** Stores counters that were kept in memory until now. */
  flush(): Promise<void>;
}

interface NewRecord {
  readonly record: ForkRecord;
  readonly actions?: readonly ForkAction[];
  /** The stored state that the write expects. */
  readonly expected?: RecordState;
}

/** What an event did to a record; the same record twice means nothing. */
interface ForkChange {
  readonly before: ForkRecord;
  readonly record: ForkRecord;
}

/** An event without its time, which the keeper adds. */
export type NewEvent = ForkEvent extends infer Event
  ? Event extends ForkEvent
    ? Omit<Event, "atMs">
    : never
  : never;

interface ForkKeeperOptions {
  readonly context: Pick<PluginContext, "notify" | "record" | "now" | "redaction">;
  readonly store: RecordStore;
  readonly limits: ForkLimits;
  readonly owner: () => ForkOwner;
  /** Performs an action after the record is stored; must not throw. */
  readonly perform: (record: ForkRecord, action: ForkAction) => void;
}

export function createForkKeeper({ context, store, limits, owner, perform }: ForkKeeperOptions): ForkKeeper {
  const entries = new Map<string, Entry>();
  const refused = createLruMap<string, true>(MAX_REFUSED);
  const isKept = (entry: Entry): boolean => entries.get(entry.record.id) === entry;

  /** The entry takes the record only once it is stored. */
  async function save(entry: Entry, record: ForkRecord): Promise<"stored" | "conflict" | "failed"> {
    const stored = await store.put({ id: record.id, value: record, expected: entry.state });
    if (stored.status === "stored") {
      Object.assign(entry, { record, state: stored.version, isDirty: false, isUnsure: false });
      entry.hasFailed = false;
      return "stored";
    }
    // A failed write may have arrived: the stored record must be read again.
    entry.isUnsure = true;
    if (stored.status === "failed" && !entry.hasFailed) {
      entry.hasFailed = true;
      context.notify.log("error", `fork ${record.number} could not be stored: ${stored.reason}`);
    }
    return stored.status;
  }

  /** Reads the stored record again; true if this instance still owns the fork. */
  async function readAgain(entry: Entry): Promise<boolean> {
    const found = await store.get(entry.record.id);
    if (found.status === "failed") return false;
    entry.isUnsure = false;
    if (found.status !== "found") {
      entry.state = found.status;
      return true;
    }
    const record = readForkRecord(found.value);
    if (record === undefined || record.owner.instanceId !== owner().instanceId) {
      if (isKept(entry)) entries.delete(entry.record.id);
      context.notify.log("info", `fork ${entry.record.number} was taken over by another instance`);
      return false;
    }
    const isNewer = typeof entry.state !== "number" || found.version > entry.state;
    if (isNewer) entry.record = record;
    entry.state = found.version;
    return true;
  }

  async function advance(entry: Entry, event: ForkEvent): Promise<ForkChange | undefined> {
    for (let attempt = 1; attempt <= MAX_CONFLICTS; attempt++) {
      if (entry.isUnsure && !(await readAgain(entry))) return undefined;
      const before = entry.record;
      const { record, actions } = advanceFork(before, event, limits);
      const isMoved = stateOf(before) !== stateOf(record);
      if (record !== before && (actions.length > 0 || isMoved || !COUNTING.has(event.type))) {
        const outcome = await save(entry, record);
        if (outcome === "conflict") continue;
        if (outcome === "failed") return undefined;
        if (isMoved) journal(record, event.type);
      } else if (record !== before) {
        entry.record = record;
        entry.isDirty = true;
        // After a crash not every agent shows which calls the last step made. Of many at once the last is stored: the
        // calls wait for it. What cannot be stored now is stored later.
        if (event.type === "tool-called" && entry.waiting === 0) await save(entry, record);
      }
      for (const action of actions) perform(record, action);
      return { before, record };
    }
    return undefined;
  }

  function journal(record: ForkRecord, because: string): void {
    const run = currentRun(record);
    context.record(record.parentSessionId, {
      type: "fork",
      fork: record.id,
      number: record.number,
      run: run.number,
      state: run.state,
      because,
      ...(record.childSessionId === undefined ? {} : { child: record.childSessionId }),
      ...("error" in run ? { error: run.error } : {}),
      ...(because === "asked" || because === "rebuilt"
        ? { title: record.title, inherited: record.inherited }
        : {}),
    });
  }

  /** Runs the steps of a fork one after the other. */
  function inLine<Value>(entry: Entry, step: () => Promise<Value>): Promise<Value | undefined> {
    entry.waiting++;
    const next = entry.last
      .then(() => {
        entry.waiting--;
        return isKept(entry) ? step() : undefined;
      })
      .catch((cause: unknown) => {
        context.notify.log("error", `a step of fork ${entry.record.number} failed`, { cause: String(cause) });
        return undefined;
      });
    entry.last = next;
    return next;
  }

  return {
    async add({ record, actions = [], expected = "missing" }) {
      const entry = newEntry(record, expected);
      const isAsked = actions.length === 0;
      entries.set(record.id, entry);
      // Queued like events, so that an early event waits until the fork is stored.
      const outcome = await inLine(entry, async () => {
        const outcome = await save(entry, record);
        if (outcome !== "failed") return outcome;
        const isRead = await readAgain(entry);
        if (!isRead && isAsked) refused.set(record.id, true);
        return isRead && typeof entry.state === "number" ? "stored" : "failed";
      });
      if (outcome !== "stored") {
        if (isKept(entry)) entries.delete(record.id);
        return "not-kept";
      }
      journal(record, isAsked ? "asked" : "rebuilt");
      for (const action of actions) perform(record, action);
      return "kept";
    },
    async adopt(record, version) {
      const self = owner();
      const fromInstanceId = record.owner.instanceId;
      if (fromInstanceId === self.instanceId && refused.get(record.id)) {
        // The model was told that this fork was not started.
        await store.delete(record.id, version);
        return undefined;
      }
      const entry = newEntry(record, version);
      const known = entries.get(record.id);
      if (known !== undefined) entry.last = known.last;
      entries.set(record.id, entry);
      if (fromInstanceId === self.instanceId) return record;
      const adopted = await inLine(entry, async () => {
        const event = { type: "adopted", owner: self, fromInstanceId, atMs: context.now() } as const;
        const step = advanceFork(record, event, limits);
        if ((await save(entry, step.record)) !== "stored") {
          // Two adoptions may run at the same time, and the first has made it ours.
          const isOurs = (await readAgain(entry)) && entry.record.owner.instanceId === self.instanceId;
          return isOurs ? entry.record : undefined;
        }
        if (stateOf(record) !== stateOf(step.record)) journal(step.record, event.type);
        for (const action of step.actions) perform(step.record, action);
        return step.record;
      });
      if (adopted === undefined && isKept(entry)) entries.delete(record.id);
      return adopted;
    },
    dispatch(forkId, event) {
      const entry = entries.get(forkId);
      if (entry === undefined) return Promise.resolve(undefined);
      const timed = withoutSecrets({ ...event, atMs: context.now() } as ForkEvent, context.redaction);
      return inLine(entry, () => advance(entry, timed));
    },
    get: (forkId) => entries.get(forkId)?.record,
    ofChild(childSessionId) {
      for (const { record } of entries.values()) if (record.childSessionId === childSessionId) return record;
      return undefined;
    },
    all: () => Array.from(entries.values(), ({ record }) => record),
    async remove(forkId) {
      const entry = entries.get(forkId);
      if (entry === undefined) return;
      await inLine(entry, async () => {
        const deleted = await store.delete(forkId, entry.state);
        if (deleted.status === "deleted") entries.delete(forkId);
        else entry.isUnsure = true;
      });
    },
    async flush() {
      for (const entry of entries.values()) {
        if (!entry.isDirty) continue;
        await inLine(entry, async () => {
          if (entry.isUnsure && !(await readAgain(entry))) return;
          if (entry.isDirty) await save(entry, entry.record);
        });
      }
    },
  };
}

interface Entry {
  record: ForkRecord;
  state: RecordState;
  /** Counters changed that are not stored. */
  isDirty: boolean;
  /** A write failed, so the record must be read before the next one. */
  isUnsure: boolean;
  hasFailed: boolean;
  last: Promise<unknown>;
  /** Steps behind the one that runs. */
  waiting: number;
}

function newEntry(record: ForkRecord, state: RecordState): Entry {
  const flags = { isDirty: false, isUnsure: false, hasFailed: false };
  return { record, state, ...flags, last: Promise.resolve(), waiting: 0 };
}

const MAX_CONFLICTS = 3;
const MAX_REFUSED = 256;

/** Events that come with every step of a child, and count whether or not they can be stored at once. */
const COUNTING: ReadonlySet<ForkEvent["type"]> = new Set(["tool-called", "spent", "status", "tick"]);

function stateOf(record: ForkRecord): string {
  const run = currentRun(record);
  return `${run.number}/${run.state}`;
}

/** The event with its error fit to be shown: providers quote the key that they refuse. */
function withoutSecrets(event: ForkEvent, redaction: RedactOptions): ForkEvent {
  const clean = (error: ForkError): ForkError => ({
    ...error,
    message: redactSecrets(error.message, redaction),
  });
  if ("error" in event) return { ...event, error: clean(event.error) };
  if (event.type !== "child-checked" || event.finding.type !== "failed") return event;
  return { ...event, finding: { ...event.finding, error: clean(event.finding.error) } };
}
