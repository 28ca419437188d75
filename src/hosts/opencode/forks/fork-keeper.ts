import { advanceFork } from "../../../tasks/advance-fork.ts";
import type { ForkAction } from "../../../tasks/fork-action.ts";
import type { ForkEvent } from "../../../tasks/fork-event.ts";
import type { ForkLimits } from "../../../tasks/fork-limits.ts";
import { currentRun, type ForkOwner, type ForkRecord } from "../../../tasks/fork-record.ts";
import type { RecordState, RecordStore } from "../../../tasks/record-store.ts";
import type { PluginContext } from "../plugin-context.ts";

/** Keeps the records of the forks that this instance owns; every change of one goes through `tell`. */
export interface ForkKeeper {
  /** Stores a new fork, or one that was rebuilt, and does what follows from it. */
  add(step: NewRecord): Promise<void>;
  /** Gets to know a stored fork of an instance that is gone; the first event told to it makes it ours. */
  take(record: ForkRecord, version: number): void;
  /** Resolves once the event has been taken in and stored; what follows from it goes on by itself. */
  tell(forkId: string, event: NewEvent): Promise<ForkRecord | undefined>;
  get(forkId: string): ForkRecord | undefined;
  ofChild(childSessionId: string): ForkRecord | undefined;
  all(): readonly ForkRecord[];
  /** Stores what was only counted until now. */
  flush(): Promise<void>;
}

export interface NewRecord {
  readonly record: ForkRecord;
  readonly actions?: readonly ForkAction[];
  /** What is stored of it until now. */
  readonly expected?: RecordState;
}

/** An event without its time, which the keeper adds. */
export type NewEvent = ForkEvent extends infer Event
  ? Event extends ForkEvent
    ? Omit<Event, "atMs">
    : never
  : never;

export interface ForkKeeperOptions {
  readonly context: Pick<PluginContext, "notify" | "record" | "now">;
  readonly store: RecordStore;
  readonly limits: ForkLimits;
  readonly owner: () => ForkOwner;
  /** Does what follows from an event, after the record is stored; must not throw. */
  readonly perform: (record: ForkRecord, action: ForkAction) => void;
}

export function createForkKeeper({ context, store, limits, owner, perform }: ForkKeeperOptions): ForkKeeper {
  const entries = new Map<string, Entry>();

  async function save(entry: Entry): Promise<void> {
    const { record } = entry;
    const stored = await store.put({ id: record.id, value: record, expected: entry.state });
    if (stored.status === "stored") {
      entry.state = stored.version;
      entry.isDirty = false;
    } else if (stored.status === "conflict") {
      // Somebody else owns it now, and it is for them to go on.
      entries.delete(record.id);
      context.notify.log("warn", `fork ${record.number} was taken over by another instance`);
    } else {
      entry.isDirty = true;
      context.notify.log("error", `fork ${record.number} could not be stored: ${stored.reason}`);
    }
  }

  async function advance(entry: Entry, event: ForkEvent): Promise<ForkRecord | undefined> {
    const self = owner();
    if (entry.record.owner.instanceId !== self.instanceId && event.type !== "adopted") {
      await advance(entry, { type: "adopted", owner: self, atMs: event.atMs });
      if (!entries.has(entry.record.id)) return undefined;
    }
    const before = entry.record;
    const { record, actions } = advanceFork(before, event, limits);
    if (record !== before) {
      entry.record = record;
      entry.isDirty = true;
      if (actions.length > 0 || !COUNTING.has(event.type) || stateOf(before) !== stateOf(record)) {
        await save(entry);
        if (!entries.has(record.id)) return undefined;
      }
      if (stateOf(before) !== stateOf(record)) journal(record, event);
    }
    for (const action of actions) perform(record, action);
    return record;
  }

  function journal(record: ForkRecord, event: ForkEvent): void {
    const run = currentRun(record);
    context.record(record.parentSessionId, {
      type: "fork",
      fork: record.id,
      number: record.number,
      run: run.number,
      state: run.state,
      because: event.type,
      ...(record.childSessionId === undefined ? {} : { child: record.childSessionId }),
      ...("error" in run ? { error: run.error } : {}),
    });
  }

  return {
    async add({ record, actions = [], expected = "missing" }) {
      const entry: Entry = { record, state: expected, isDirty: true, last: Promise.resolve(undefined) };
      entries.set(record.id, entry);
      // In the line of its events: one that comes before it is stored must wait.
      entry.last = save(entry).then(() => record);
      await entry.last;
      context.record(record.parentSessionId, {
        type: "fork",
        fork: record.id,
        number: record.number,
        run: currentRun(record).number,
        state: currentRun(record).state,
        because: actions.length === 0 ? "asked" : "rebuilt",
        title: record.title,
        inherited: record.inherited,
      });
      if (entries.has(record.id)) for (const action of actions) perform(record, action);
    },
    take: (record, version) =>
      void entries.set(record.id, {
        record,
        state: version,
        isDirty: false,
        last: Promise.resolve(undefined),
      }),
    tell(forkId, event) {
      const entry = entries.get(forkId);
      if (entry === undefined) return Promise.resolve(undefined);
      const timed = { ...event, atMs: context.now() } as ForkEvent;
      // One event after the other: each sees what the one before it left.
      const next = entry.last.then(() => (entries.has(forkId) ? advance(entry, timed) : undefined));
      entry.last = next.catch((cause: unknown) => {
        context.notify.log("error", `fork event ${event.type} failed`, { cause: String(cause) });
        return undefined;
      });
      return entry.last;
    },
    get: (forkId) => entries.get(forkId)?.record,
    ofChild: (childSessionId) =>
      [...entries.values()].find(({ record }) => record.childSessionId === childSessionId)?.record,
    all: () => [...entries.values()].map(({ record }) => record),
    async flush() {
      for (const entry of entries.values()) {
        if (!entry.isDirty) continue;
        entry.last = entry.last.then(async () => {
          if (entry.isDirty && entries.has(entry.record.id)) await save(entry);
          return entry.record;
        });
        await entry.last;
      }
    },
  };
}

interface Entry {
  record: ForkRecord;
  state: RecordState;
  isDirty: boolean;
  last: Promise<ForkRecord | undefined>;
}

/** Events that come with every step of a child; storing each would cost a write to the disk. */
const COUNTING: ReadonlySet<ForkEvent["type"]> = new Set(["tool-called", "spent", "status", "tick"]);

function stateOf(record: ForkRecord): string {
  const run = currentRun(record);
  return `${run.number}/${run.state}`;
}
