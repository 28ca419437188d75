import type { DeliveryWaits, ParentState } from "../../fork/life/delivery.ts";
import { forkRoster, resultNotice } from "../../fork/life/notice.ts";
import type { Environment } from "../context/context.ts";
import { createForkAdoption, isUnfinished } from "../forks/clock.ts";
import type { ForkSetup } from "../forks/forks.ts";
import type { Feature } from "../host/features.ts";
import { createLruMap } from "../stores/lru-map.ts";
import { createOutbox, type ParentStates } from "./outbox.ts";

/**
 * Brings the results of forks to their parents, each once: behind a tool output, with a message of the user, or by a prompt
 * of its own. A compaction of the parent is told of the forks that are not over.
 */
export function createDeliveryFeature({ context, forks }: ForkSetup): Feature {
  const { now, options, host } = context;
  const { keeper } = forks;
  const states = createParentStates();
  const adoption = createForkAdoption({ context, forks });
  const outbox = createOutbox({ context, forks, states, waits: readDeliveryWaits(context.env) });
  forks.onDelivery(outbox.schedule);
  return {
    name: "fork results",
    async onSignal(signal) {
      states.observe(signal, now());
      if (signal.type === "idle" && hasOpenResults(signal.sessionId)) outbox.schedule(signal.sessionId);
    },
    async onUserMessage({ sessionId, messageId, from }) {
      if (from === "plugin") return undefined;
      states.userSpoke(sessionId, now());
      await adoption.takeRoot(await context.tree.rootOf(sessionId));
      if (messageId === undefined || !host.can.carryResults) return undefined;
      // First, since it may be wanted with this very message.
      await outbox.findUnsure(sessionId);
      const carrier = { type: "message", messageId } as const;
      const results = await outbox.take(sessionId, { moment: "user-message", carrier });
      return results.length === 0 ? undefined : resultNotice(results);
    },
    async afterTool({ sessionId, callId, text }) {
      states.toolEnded(sessionId, now());
      if (text === undefined || !host.can.carryResults || !hasOpenResults(sessionId)) return undefined;
      const carrier = { type: "tool", callId } as const;
      const results = await outbox.take(sessionId, { moment: "tool-end", carrier });
      return results.length === 0 ? undefined : { type: "append", text: `\n\n${resultNotice(results)}` };
    },
    async beforeCompaction({ sessionId }) {
      states.compacting(sessionId);
      if (options.compaction === "off" || options.profile === "documented") return undefined;
      return forkRoster(forksOf(sessionId), now()) || undefined;
    },
    dispose: async () => outbox.dispose(),
  };

  function forksOf(parentSessionId: string) {
    return keeper.all().filter((record) => record.parentSessionId === parentSessionId);
  }

  function hasOpenResults(sessionId: string): boolean {
    return forksOf(sessionId).some(isUnfinished);
  }
}

/** The waits of a delivery; only tests shorten them, through the environment. */
function readDeliveryWaits({ CARRYOVER_TEST_BUSY_MS, CARRYOVER_TEST_ANSWER_MS }: Environment): DeliveryWaits {
  const busyMs = Number(CARRYOVER_TEST_BUSY_MS);
  const answerMs = Number(CARRYOVER_TEST_ANSWER_MS);
  return { ...(busyMs > 0 ? { busyMs } : {}), ...(answerMs > 0 ? { answerMs } : {}) };
}

/** Takes every session for idle until a signal says otherwise. */
export function createParentStates(): ParentStates {
  const seen = createLruMap<string, { readonly state: ParentState; readonly change: number }>(MAX_SESSIONS);
  let changes = 0;
  const enter = (sessionId: string, state: ParentState): void => {
    changes += 1;
    seen.set(sessionId, { state, change: changes });
  };
  const busyFrom = (sessionId: string, sinceMs: number): void =>
    enter(sessionId, { status: "busy", sinceMs });
  const statusOf = (sessionId: string): ParentState["status"] | undefined =>
    seen.get(sessionId)?.state.status;
  return {
    of: (sessionId) => seen.get(sessionId)?.state ?? { status: "idle" },
    changeOf: (sessionId) => seen.get(sessionId)?.change ?? 0,
    observe(signal, atMs) {
      switch (signal.type) {
        case "deleted":
          return seen.delete(signal.sessionId);
        case "failed":
          if (signal.error.kind === "aborted") enter(signal.sessionId, { status: "aborted" });
          return;
        case "idle":
          if (statusOf(signal.sessionId) !== "aborted") enter(signal.sessionId, { status: "idle" });
          return;
        case "compacted":
          return busyFrom(signal.sessionId, atMs);
        case "busy": {
          const before = statusOf(signal.sessionId);
          if (before === undefined || before === "idle") busyFrom(signal.sessionId, atMs);
        }
      }
    },
    toolEnded(sessionId, atMs) {
      // A tool that was running when the user stopped the session ends too.
      if (statusOf(sessionId) !== "aborted") busyFrom(sessionId, atMs);
    },
    compacting: (sessionId) => enter(sessionId, { status: "compacting" }),
    userSpoke: busyFrom,
  };
}

const MAX_SESSIONS = 4_096;
