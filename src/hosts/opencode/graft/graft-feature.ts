import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { sessionOf, type ViewCapture } from "../capture/view-capture.ts";
import type { ViewStore } from "../capture/view-store.ts";
import type { Feature } from "../combine-hooks.ts";
import { deletedSession } from "../deleted-session.ts";
import type { ForkBonds } from "../forks/fork-bonds.ts";
import type { PluginContext } from "../plugin-context.ts";
import { createSummaryWatch } from "./summary-watch.ts";

/** Shows a child what it inherited, in front of its own messages, until a summary of its own covers it; nothing is stored in its session. */
export function createGraftFeature({ context, capture, views, bonds }: GraftSetup): Feature {
  const summaries = createSummaryWatch(context.calls);
  return {
    name: "inherited context",
    hooks: {
      "experimental.chat.messages.transform": async (_input, output) => {
        const { messages } = output;
        capture.see(messages, context.now());
        const sessionId = sessionOf(messages);
        if (sessionId === undefined) return;
        const bond = await bonds.bondOf(sessionId);
        if (bond?.blob === undefined || bond.way === "text") return;
        if (await summaries.covers(sessionId, messages)) return;
        const view = await views.get(bond.blob);
        if (view.status === "found") {
          messages.splice(0, 0, ...view.messages.map(copyOf));
          return;
        }
        messages.splice(0, 0, lostContext(sessionId, view.reason));
        context.record(sessionId, { type: "fork-context-lost", fork: bond.id, reason: view.reason });
        context.notify.toastOnce(`A fork lost its inherited context: ${view.reason}.`, "error");
      },
      event: async ({ event }) => {
        const deleted = deletedSession(event);
        if (deleted === undefined) return;
        capture.forget(deleted);
        summaries.forget(deleted);
      },
    },
  };
}

export interface GraftSetup {
  readonly context: PluginContext;
  readonly capture: ViewCapture;
  readonly views: ViewStore;
  readonly bonds: ForkBonds;
}

/** Another plugin may change parts and their state in place; the kept view must stay as it is. */
function copyOf({ info, parts }: SessionMessage): SessionMessage {
  return {
    info: { ...info },
    parts: parts.map((part) =>
      typeof part.state === "object" && part.state !== null
        ? { ...part, state: { ...part.state } }
        : { ...part },
    ),
  };
}

function lostContext(sessionID: string, reason: string): SessionMessage {
  const text = `The conversation that you were to inherit could not be loaded: ${reason}. You know only what follows. Say so in your report, and read again whatever you need.`;
  const id = "msg_carryover_lost";
  return {
    info: { id, sessionID, role: "user", time: { created: 0 } },
    parts: [{ id: "prt_carryover_lost", sessionID, messageID: id, type: "text", text, synthetic: true }],
  };
}
