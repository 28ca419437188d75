import { fields, stringField } from "../../../formats/fields.ts";
import { forkRoster } from "../../../tasks/fork-table.ts";
import { resultNotice } from "../../../tasks/result-notice.ts";
import type { Feature } from "../combine-hooks.ts";
import type { Forks } from "../forks/create-forks.ts";
import { createLeftForks, isUnfinished } from "../forks/left-forks.ts";
import { createMessageId } from "../forks/message-id.ts";
import type { PluginContext } from "../plugin-context.ts";
import { readDeliveryWaits } from "./delivery-waits.ts";
import { OUR_MARK } from "./our-mark.ts";
import { createOutbox } from "./outbox.ts";
import { createParentStates } from "./parent-states.ts";

/** Brings the results of forks to their parents, each once: on a tool output, with a message of the user, or by a prompt of its own. */
export function createDeliveryFeature({ context, forks }: DeliverySetup): Feature {
  const { now } = context;
  const { keeper } = forks;
  const states = createParentStates();
  const left = createLeftForks({ context, forks });
  const outbox = createOutbox({ context, forks, states, waits: readDeliveryWaits(process.env) });
  forks.onDelivery(outbox.ask);
  return {
    name: "fork results",
    hooks: {
      event: async ({ event }) => {
        states.observe(event, now());
        const sessionId = stringField(event.properties.sessionID);
        if (event.type === "session.idle" && sessionId !== undefined && hasOpenResults(sessionId))
          outbox.ask(sessionId);
      },
      "chat.message": async ({ sessionID }, output) => {
        if (output.parts.some((part) => fields(part.metadata).carryover !== undefined)) return;
        states.userSpoke(sessionID, now());
        await left.takeRoot(await context.tree.rootOf(sessionID));
        const messageId = stringField(output.message.id);
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
          metadata: OUR_MARK,
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
          ...fields(output.metadata),
          carryover: { ...fields(fields(output.metadata).carryover), ride },
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

export interface DeliverySetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}
