import type { DeliveryWaits } from "../../fork/life/delivery.ts";
import { forkRoster, resultNotice } from "../../fork/life/notice.ts";
import { createMessageId } from "../../hosts/opencode/sessions.ts";
import { asObject, asString } from "../../text/json.ts";
import type { PluginContext } from "../context/context.ts";
import { createForkAdoption, isUnfinished } from "../forks/adopt.ts";
import type { Forks } from "../forks/forks.ts";
import type { Feature } from "../host/features.ts";
import { CARRYOVER_METADATA, createOutbox } from "./outbox.ts";
import { createParentStates } from "./parents.ts";

/** Brings the results of forks to their parents, each once: on a tool output, with a message of the user, or by a prompt of its own. */
export function createDeliveryFeature({ context, forks }: DeliverySetup): Feature {
  const { now } = context;
  const { keeper } = forks;
  const states = createParentStates();
  const left = createForkAdoption({ context, forks });
  const outbox = createOutbox({ context, forks, states, waits: readDeliveryWaits(process.env) });
  forks.onDelivery(outbox.ask);
  return {
    name: "fork results",
    hooks: {
      event: async ({ event }) => {
        states.observe(event, now());
        const sessionId = asString(event.properties.sessionID);
        if (event.type === "session.idle" && sessionId !== undefined && hasOpenResults(sessionId))
          outbox.ask(sessionId);
      },
      "chat.message": async ({ sessionID }, output) => {
        if (output.parts.some((part) => asObject(part.metadata).carryover !== undefined)) return;
        states.userSpoke(sessionID, now());
        await left.takeRoot(await context.tree.rootOf(sessionID));
        const messageId = asString(output.message.id);
        if (messageId === undefined) return;
        // First, since it may be wanted with this very message.
        await outbox.lookForUnsure(sessionID);
        const thing = { type: "message", messageId } as const;
        const results = await outbox.take(sessionID, { moment: "user-message", thing });
        if (results.length === 0) return;
        output.parts.push({
          id: createMessageId(now()).replace("msg_", "prt_"),
          sessionID,
          messageID: messageId,
          type: "text",
          text: resultNotice(results),
          synthetic: true,
          metadata: CARRYOVER_METADATA,
        });
      },
      "tool.execute.after": async ({ sessionID, callID }, output) => {
        states.toolEnded(sessionID, now());
        // Tools of other servers give no text that could carry anything.
        if (typeof output.output !== "string") return;
        const thing = { type: "tool", callId: callID } as const;
        const results = await outbox.take(sessionID, { moment: "tool-end", thing });
        if (results.length === 0) return;
        const notice = `\n\n${resultNotice(results)}`;
        const ride = { offset: output.output.length, length: notice.length };
        output.metadata = {
          ...asObject(output.metadata),
          carryover: { ...asObject(asObject(output.metadata).carryover), ride },
        };
        output.output += notice;
      },
      "experimental.session.compacting": async ({ sessionID }, output) => {
        states.compacting(sessionID);
        if (context.options.compaction === "off" || context.options.profile === "documented") return;
        const roster = forkRoster(
          keeper.all().filter((record) => record.parentSessionId === sessionID),
          now(),
        );
        if (roster !== "") output.context.push(roster);
      },
      dispose: async () => outbox.dispose(),
    },
  };

  function hasOpenResults(sessionId: string): boolean {
    return keeper.all().some((record) => record.parentSessionId === sessionId && isUnfinished(record));
  }
}

interface DeliverySetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

/** The waits of a delivery, shortened where a test says so in the environment; no option, since nobody else has a reason to. */
function readDeliveryWaits(env: Readonly<Record<string, string | undefined>>): DeliveryWaits {
  const busyMs = Number(env.CARRYOVER_TEST_BUSY_MS);
  const answerMs = Number(env.CARRYOVER_TEST_ANSWER_MS);
  return { ...(busyMs > 0 ? { busyMs } : {}), ...(answerMs > 0 ? { answerMs } : {}) };
}
