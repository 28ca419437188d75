import { randomUUID } from "node:crypto";
import { currentProcess } from "../../../stores/files/process-identity.ts";
import { type ForkView, nextToStart } from "../../../tasks/admit-fork.ts";
import { type ForkLimits, readForkLimits } from "../../../tasks/fork-limits.ts";
import {
  currentRun,
  type EndedRun,
  type ForkOwner,
  type ForkRecord,
  isLive,
} from "../../../tasks/fork-record.ts";
import type { RecordStore } from "../../../tasks/record-store.ts";
import type { ViewCapture } from "../capture/view-capture.ts";
import type { ViewStore } from "../capture/view-store.ts";
import type { PluginContext } from "../plugin-context.ts";
import type { ModelWindows } from "../window/model-windows.ts";
import { createForkActions } from "./fork-actions.ts";
import type { ForkBonds } from "./fork-bonds.ts";
import { createForkKeeper, type ForkKeeper } from "./fork-keeper.ts";
import { createForkNumbers, type ForkNumbers } from "./fork-numbers.ts";

/** All that the features about forks share. */
export interface Forks {
  readonly keeper: ForkKeeper;
  readonly store: RecordStore;
  readonly numbers: ForkNumbers;
  readonly limits: ForkLimits;
  readonly capture: ViewCapture;
  readonly views: ViewStore;
  readonly bonds: ForkBonds;
  readonly windows: ModelWindows;
  /** Who writes the records of this instance. */
  owner(): ForkOwner;
  /** What admission and delivery look at. */
  view(): ForkView;
  /** The run as it ended, or undefined when the time is up or nobody waits any more. */
  waitForEnd(
    forkId: string,
    wait: { readonly limitMs: number; readonly signal: AbortSignal },
  ): Promise<EndedRun | undefined>;
  /** To be called when a fork was added, or time has passed. */
  fillSlots(): void;
  /** Called whenever a parent may have results to get; set by the delivery feature. */
  onDelivery(plan: (parentSessionId: string) => void): void;
}

export interface ForksSetup {
  readonly context: PluginContext;
  readonly capture: ViewCapture;
  readonly views: ViewStore;
  readonly bonds: ForkBonds;
  readonly windows: ModelWindows;
}

export function createForks({ context, capture, views, bonds, windows }: ForksSetup): Forks {
  const limits = limitsOf(context);
  const instanceId = randomUUID();
  const process = currentProcess();
  const owner = (): ForkOwner => ({ instanceId, process, heartbeatAtMs: context.stores.now() });
  const waiting = new Set<() => void>();
  let planDelivery: (parentSessionId: string) => void = () => {};

  const view = (): ForkView => ({ records: keeper.all(), instanceId, limits });
  const fillSlots = (): void => {
    for (const { id } of nextToStart(view(), context.now())) void keeper.tell(id, { type: "slot-given" });
  };

  const actions = createForkActions({
    context,
    keeper: () => keeper,
    views,
    bonds,
    fillSlots(notBeforeMs) {
      if (notBeforeMs === undefined) fillSlots();
      else setTimeout(fillSlots, Math.max(0, notBeforeMs - context.now()) + 1).unref?.();
    },
    planDelivery: (parentSessionId) => planDelivery(parentSessionId),
  });

  const store = context.stores.forks(context.directory);
  const keeper: ForkKeeper = createForkKeeper({
    context,
    store,
    limits,
    owner,
    perform(record, action) {
      actions.perform(record, action);
      if (!isLive(currentRun(record))) for (const look of waiting) look();
    },
  });

  return {
    keeper,
    store,
    numbers: createForkNumbers({ store, known: keeper.all, now: context.now }),
    limits,
    capture,
    views,
    bonds,
    windows,
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
        // One that was aborted before does not say so again.
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

function limitsOf({ options, attendance }: PluginContext): ForkLimits {
  const { way: _, budgetChars: __, onForkError: ___, allowCrossProvider: ____, ...limits } = options.fork;
  const read = readForkLimits(limits);
  if (read.status === "invalid") throw new Error(read.problems.join("; "));
  return attendance === "headless" ? { ...read.limits, askTimeoutMs: 0 } : read.limits;
}

function endOf(record: ForkRecord | undefined): EndedRun | undefined {
  const run = record === undefined ? undefined : currentRun(record);
  return run === undefined || isLive(run) ? undefined : run;
}
