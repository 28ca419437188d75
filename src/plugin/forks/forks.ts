import { randomUUID } from "node:crypto";
import { overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import { type ForkView, nextForkNumber, nextToStart } from "../../fork/life/admit.ts";
import { type ForkLimits, forkLimits } from "../../fork/life/limits.ts";
import { type ForkMetadata, readForkMetadata } from "../../fork/life/rebuild-record.ts";
import {
  currentRun,
  type EndedRun,
  type ForkOwner,
  type ForkRecord,
  isLive,
} from "../../fork/life/record.ts";
import type { RecordState, RecordStore } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { currentProcess } from "../../stores/files/exclusive-access.ts";
import { asNumber, asObject, asString } from "../../text/unknown-value.ts";
import type { PluginContext } from "../context/context.ts";
import { createViewCapture, type ViewCapture, type ViewStore } from "../stores/views.ts";
import { createModelWindows, type ModelWindows } from "../window/prune.ts";
import { createForkActions } from "./actions.ts";
import { createShownForks, type ShownForks } from "./child.ts";
import { createForkKeeper, type ForkKeeper } from "./keeper.ts";

/** What the features about forks share. */
export interface Forks {
  readonly keeper: ForkKeeper;
  readonly store: RecordStore;
  readonly numbers: ForkNumbers;
  readonly limits: ForkLimits;
  readonly capture: ViewCapture;
  readonly views: ViewStore;
  readonly windows: ModelWindows;
  readonly shown: ShownForks;
  /** The fork whose child a session is. */
  forkLinkOf(sessionId: string): Promise<ForkMetadata | undefined>;
  /** Who writes the records of this instance. */
  owner(): ForkOwner;
  /** What admission and delivery decide from. */
  view(): ForkView;
  /** The run as it ended; undefined on timeout or abort. */
  waitForEnd(
    forkId: string,
    wait: { readonly limitMs: number; readonly signal: AbortSignal },
  ): Promise<EndedRun | undefined>;
  /** Starts queued forks while slots are free. */
  fillSlots(): void;
  /** Registers what is called when a parent may have results to get. */
  onDelivery(plan: (parentSessionId: string) => void): void;
}

/** What a feature about forks works with. */
export interface ForkSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

export function createForks(context: PluginContext): Forks {
  const { views } = context.stores;
  const limits = limitsOf(context);
  const instanceId = randomUUID();
  const process = currentProcess();
  const owner = (): ForkOwner => ({ instanceId, process, heartbeatAtMs: context.stores.now() });
  const waiting = new Set<() => void>();
  let planDelivery: (parentSessionId: string) => void = () => {};

  const view = (): ForkView => ({ records: keeper.all(), instanceId, limits });
  const fillSlots = (): void => {
    for (const { id } of nextToStart(view(), context.now())) void keeper.dispatch(id, { type: "slot-given" });
  };

  const actions = createForkActions({
    context,
    keeper: () => keeper,
    views,
    fillSlots(notBeforeMs) {
      if (notBeforeMs === undefined) fillSlots();
      else setTimeout(fillSlots, Math.max(0, notBeforeMs - context.now()) + 1).unref?.();
    },
    planDelivery: (parentSessionId) => planDelivery(parentSessionId),
  });

  const shown = createShownForks(context);
  const store = context.stores.forks(context.host.project);
  const keeper: ForkKeeper = createForkKeeper({
    context,
    store,
    limits,
    owner,
    perform(record, action) {
      shown.update(record);
      actions.perform(record, action);
      if (!isLive(currentRun(record))) for (const look of waiting) look();
    },
  });

  return {
    keeper,
    store,
    numbers: createForkNumbers({ store, known: keeper.all, now: context.now }),
    limits,
    capture: createViewCapture(),
    views,
    windows: createModelWindows(context.options, overflowOfEnvironment(context.env)),
    shown,
    forkLinkOf: async (sessionId) => readForkMetadata(await context.tree.noteOf(sessionId)),
    owner,
    view,
    waitForEnd(forkId, { limitMs, signal }) {
      return new Promise((resolve) => {
        const done = (): void => {
          waiting.delete(look);
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve(endOf(keeper.get(forkId)));
        };
        const look = (): void => {
          if (endOf(keeper.get(forkId)) !== undefined) done();
        };
        const timer = setTimeout(done, limitMs);
        // An aborted signal does not fire again.
        if (signal.aborted) return done();
        signal.addEventListener("abort", done);
        waiting.add(look);
        look();
      });
    },
    fillSlots,
    onDelivery(plan) {
      planDelivery = plan;
    },
  };
}

function limitsOf({ options, host }: PluginContext): ForkLimits {
  return forkLimits({ ...options.fork, ...(host.attendance === "headless" && { askTimeoutS: 0 }) });
}

function endOf(record: ForkRecord | undefined): EndedRun | undefined {
  const run = record === undefined ? undefined : currentRun(record);
  return run === undefined || isLive(run) ? undefined : run;
}

/** Numbers the forks of each root from 1 on. No number is given twice, not even by two programs at once. */
interface ForkNumbers {
  take(rootSessionId: string): Promise<number>;
}

/** The newest number of each root is a stored record, replaced by compare-and-set. */
export function createForkNumbers({ store, known, now }: ForkNumbersOptions): ForkNumbers {
  let last: Promise<unknown> = Promise.resolve();

  async function take(rootSessionId: string): Promise<number> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { state, newest } = await newestOf(rootSessionId);
      const number = Math.max(newest + 1, nextForkNumber(known(), rootSessionId));
      if (state === undefined) return number;
      const value: NewestNumber = { schema: "fork-numbers/1", rootSessionId, newest: number, atMs: now() };
      const stored = await store.put({ id: recordIdOf(rootSessionId), value, expected: state });
      if (stored.status !== "conflict") return number;
    }
    return nextForkNumber(known(), rootSessionId);
  }

  /** The stored number; no state where the store cannot be read. */
  async function newestOf(
    rootSessionId: string,
  ): Promise<{ readonly state: RecordState | undefined; readonly newest: number }> {
    const found = await store.get(recordIdOf(rootSessionId));
    if (found.status === "failed") return { state: undefined, newest: 0 };
    const newest = found.status === "found" ? readNewestNumber(found.value)?.newest : undefined;
    const state = found.status === "found" ? found.version : found.status;
    return { state, newest: newest ?? nextForkNumber(await storedForks(), rootSessionId) - 1 };
  }

  /** For a root whose number was purged. */
  async function storedForks(): Promise<readonly ForkRecord[]> {
    const listed = await store.list();
    if (listed.status === "failed") return [];
    return listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
  }

  return {
    // One at a time within this program, so that only other programs cause conflicts.
    take(rootSessionId) {
      const taken = last.then(() => take(rootSessionId));
      last = taken.catch(() => {});
      return taken;
    },
  };
}

interface ForkNumbersOptions {
  readonly store: RecordStore;
  /** The forks that this program keeps. */
  readonly known: () => readonly ForkRecord[];
  readonly now: () => number;
}

/** The newest number of a root, as it is stored. */
interface NewestNumber {
  readonly schema: "fork-numbers/1";
  readonly rootSessionId: string;
  readonly newest: number;
  readonly atMs: number;
}

/** The number in a stored value, or undefined for anything else. */
export function readNewestNumber(value: unknown): NewestNumber | undefined {
  const { schema, rootSessionId, newest, atMs } = asObject(value);
  const isNumber =
    schema === "fork-numbers/1" &&
    asString(rootSessionId) !== undefined &&
    Number.isSafeInteger(newest) &&
    asNumber(atMs) !== undefined;
  return isNumber ? (value as NewestNumber) : undefined;
}

function recordIdOf(rootSessionId: string): string {
  return `numbers-${rootSessionId}`;
}

const MAX_ATTEMPTS = 50;
