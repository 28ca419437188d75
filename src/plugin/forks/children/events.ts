import { type ForkRecord, forkName } from "../../../fork/life/record.ts";
import { readForkRecord } from "../../../fork/life/stored-record.ts";
import { createLruMap } from "../../../text/lru-map.ts";
import type { Feature } from "../../context/context.ts";
import type { ForkSetup } from "../forks.ts";
import type { NewEvent } from "../keeper.ts";
import { createChildLimits } from "./limits.ts";

/** Turns what the agent says about sessions into events of the forks whose child or parent they are. */
export function createChildEventsFeature({ context, forks }: ForkSetup): Feature {
  const { keeper } = forks;
  const { sessions } = context.host;
  const gone = createLruMap<string, true>(MAX_GONE);
  const limits = createChildLimits({ context, forks });
  const dispatchToChild = (sessionId: string, event: NewEvent): void => {
    const record = keeper.ofChild(sessionId);
    if (record !== undefined) void keeper.dispatch(record.id, event);
  };
  const dispatchToForksOf = (parentSessionId: string, event: NewEvent): void => {
    for (const record of keeper.all()) {
      if (record.parentSessionId === parentSessionId) void keeper.dispatch(record.id, event);
    }
  };
  /** Agents go on with what a deleted session is doing; stopped at once, its next request is not made. */
  const stopChild = (sessionId: string): void => {
    if (keeper.ofChild(sessionId) !== undefined) void sessions.stop(sessionId);
  };
  /** Another program may have deleted it, whose signals are not heard here; a request that it repeats would fail again. */
  const stopIfGone = async (sessionId: string): Promise<void> => {
    if (keeper.ofChild(sessionId) === undefined) return;
    const answer = await sessions.get(sessionId);
    if (answer.status === "failed" && answer.code === "missing") stopChild(sessionId);
  };
  /** A child that stops right after its prompt may only be starting; it is looked at again when that is over. */
  const checkAgain = (sessionId: string): void => {
    if (keeper.ofChild(sessionId) === undefined) return;
    const timer = setTimeout(async () => {
      const status = await sessions.status(sessionId);
      if (status === "idle") dispatchToChild(sessionId, { type: "status", status });
    }, SETTLED_MS);
    timer.unref?.();
  };
  /** Agents do not say whose question a permission dialog is: a line at the end of the conversation stands right above it. */
  const showAsk = ({ askId, what = "" }: Ask, record: ForkRecord | undefined): void => {
    if (record === undefined) return;
    const { parentSessionId: sessionId } = record;
    const text = `${forkName(record)} asks for a permission${what === "" ? "" : `: ${what}`}`;
    context.show({ type: "line", sessionId, key: `ask ${askId}`, label: "Carryover", text });
  };
  return {
    name: "fork events",
    holdsForks: true,
    async onSignal(signal) {
      context.tree.observe(signal);
      switch (signal.type) {
        case "idle":
          dispatchToChild(signal.sessionId, { type: "status", status: "idle" });
          return checkAgain(signal.sessionId);
        case "busy":
          return dispatchToChild(signal.sessionId, { type: "status", status: signal.type });
        case "retry":
          dispatchToChild(signal.sessionId, { type: "status", status: signal.type });
          return stopIfGone(signal.sessionId);
        case "failed":
          dispatchToChild(signal.sessionId, { type: "child-failed", error: signal.error });
          if (signal.error.kind === "aborted")
            dispatchToForksOf(signal.sessionId, { type: "parent-aborted" });
          return;
        case "deleted":
          stopChild(signal.sessionId);
          dispatchToChild(signal.sessionId, { type: "child-deleted" });
          dispatchToForksOf(signal.sessionId, { type: "parent-deleted" });
          return dropRequest(signal.sessionId);
        case "updated":
          return limits.count(signal.session);
        case "request": {
          const record = keeper.ofChild(signal.sessionId);
          if (record === undefined) return;
          const { costUSD, tokens, steps } = record.spent;
          return dispatchToChild(signal.sessionId, { type: "spent", costUSD, tokens, steps: steps + 1 });
        }
        case "permission-asked":
        case "permission-answered": {
          const { sessionId, ...event } = signal;
          if (event.type === "permission-asked") showAsk(event, keeper.ofChild(sessionId));
          return dispatchToChild(sessionId, event);
        }
      }
    },
    beforeRequest: limits.beforeRequest,
    beforeTool: limits.beforeTool,
  };

  /** What a child inherited goes with its session, unless a sibling still shows it, in whatever program that runs. */
  async function dropRequest(childSessionId: string): Promise<void> {
    const blob = keeper.ofChild(childSessionId)?.inherited.snapshotId;
    if (blob === undefined) return;
    gone.set(childSessionId, true);
    const listed = await forks.store.list();
    // What stays goes with its age.
    if (listed.status === "failed") return;
    const records = listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
    const isShared = [...records, ...keeper.all()].some(
      (other) => other.inherited.snapshotId === blob && !gone.get(other.childSessionId ?? ""),
    );
    if (!isShared) forks.requests.remove(blob);
  }
}

interface Ask {
  readonly askId: string;
  readonly what?: string;
}

/** A little longer than a child may be idle before its first step. */
const SETTLED_MS = 5_200;
const MAX_GONE = 1_024;
