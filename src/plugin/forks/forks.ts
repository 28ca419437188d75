import { randomUUID } from "node:crypto";
import { overflowOfEnvironment } from "../../compaction/trigger/overflow.ts";
import { type ForkView, nextToStart } from "../../fork/life/admit.ts";
import { type ForkLimits, forkLimits } from "../../fork/life/limits.ts";
import { type ForkMetadata, readForkMetadata } from "../../fork/life/rebuild-record.ts";
import {
  currentRun,
  type EndedRun,
  type ForkOwner,
  type ForkRecord,
  isLive,
} from "../../fork/life/record.ts";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { currentProcess } from "../../stores/files/process-identity.ts";
import type { PluginContext } from "../context/context.ts";
import { createLastRequests, type LastRequests } from "../stores/last-sent.ts";
import type { RequestStore } from "../stores/requests.ts";
import { createModelWindows, type ModelWindows } from "../window/model-windows.ts";
import { createForkActions } from "./actions.ts";
import { createForkNumbers, type ForkNumbers } from "./fork-numbers.ts";
import { createForkKeeper, type ForkKeeper } from "./keeper.ts";
import { createShownForks, type ShownForks } from "./shown-forks.ts";

/** What the features about forks share. */
export interface Forks {
  readonly keeper: ForkKeeper;
  readonly store: RecordStore;
  readonly numbers: ForkNumbers;
  readonly limits: ForkLimits;
  readonly capture: LastRequests;
  readonly requests: RequestStore;
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
  const { requests } = context.stores;
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
    requests,
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
    capture: createLastRequests(),
    requests,
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
