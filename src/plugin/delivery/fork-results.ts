import { resultNotice } from "../../fork/life/notice.ts";
import type { DeliveryWaits } from "../../fork/life/plan-delivery.ts";
import { type ForkRecord, isLive } from "../../fork/life/record.ts";
import { forkRoster } from "../../fork/life/roster.ts";
import type { Feature, PluginContext } from "../context/context.ts";
import { createForkAdoption, isUnfinished } from "../forks/adopt-forks.ts";
import type { ForkSetup } from "../forks/forks.ts";
import { createOutbox } from "./outbox.ts";
import { createParentStates } from "./parent-states.ts";

/**
 * Brings the results of forks to their parents, each once: behind a tool output, with a message of the user, or by a prompt
 * of its own. An agent that delivers once by itself is given each result as soon as it is there, under an id made from its
 * delivery id. A compaction of the parent is told of the forks that are not over. While the user has messages of the parent
 * taken back, nothing reaches it.
 */
export function createDeliveryFeature({ context, forks }: ForkSetup): Feature {
  const { now, options, host } = context;
  const { keeper } = forks;
  const states = createParentStates();
  const adoption = createForkAdoption({ context, forks });
  const outbox = createOutbox({ context, forks, states, waits: deliveryWaits(context) });
  forks.onDelivery(outbox.schedule);
  return {
    name: "fork results",
    async onSignal(signal) {
      if (signal.type === "updated") {
        const { id, revertedFrom } = signal.session;
        const isNews = states.setRevert(id, revertedFrom);
        if (forksOf(id).length > 0 && (isNews || forksOf(id).some(isUndone))) await outbox.settle(id);
      }
      states.observe(signal, now());
      if (signal.type === "idle" && hasOpenResults(signal.sessionId)) outbox.schedule(signal.sessionId);
    },
    async onUserMessage({ sessionId, messageId, from }) {
      if (from === "plugin") return undefined;
      states.userSpoke(sessionId, now());
      await adoption.takeRoot(await context.tree.rootOf(sessionId));
      if (forksOf(sessionId).some((record) => isUndone(record) || hasResult(record)))
        await outbox.settle(sessionId);
      if (messageId === undefined) return undefined;
      // First, since it may be wanted with this very message.
      await outbox.findUnsure(sessionId);
      if (host.can.deliversOnce) await outbox.sendWaiting(sessionId);
      if (!host.can.carryResults) return undefined;
      const carrier = { type: "message", messageId } as const;
      const results = await outbox.take(sessionId, { moment: "user-message", carrier });
      return results.length === 0 ? undefined : resultNotice(results);
    },
    async afterTool({ sessionId, callId, text }) {
      states.toolEnded(sessionId, now());
      if (text === undefined || !host.can.carryResults || !hasOpenResults(sessionId)) return undefined;
      if (!outbox.isDue(sessionId, "tool-end")) return undefined;
      await outbox.settle(sessionId);
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

/** Something of it stands in messages that the user has taken back. */
function isUndone({ runs }: ForkRecord): boolean {
  return runs.some((run) => run.undone === "restorable" || (!isLive(run) && run.delivery.isUndone === true));
}

function hasResult({ runs }: ForkRecord): boolean {
  return runs.some((run) => !isLive(run) && run.delivery.state !== "acked");
}

/** The waits of a delivery. An agent that delivers once takes a result at any time; else only tests shorten them, through the environment. */
function deliveryWaits({ host, env }: Pick<PluginContext, "host" | "env">): DeliveryWaits {
  const { CARRYOVER_TEST_BUSY_MS, CARRYOVER_TEST_ANSWER_MS } = env;
  const busyMs = host.can.deliversOnce ? AT_ONCE_MS : Number(CARRYOVER_TEST_BUSY_MS);
  const answerMs = Number(CARRYOVER_TEST_ANSWER_MS);
  return { ...(busyMs > 0 ? { busyMs } : {}), ...(answerMs > 0 ? { answerMs } : {}) };
}

const AT_ONCE_MS = 1;
