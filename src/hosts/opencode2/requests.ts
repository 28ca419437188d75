import type { OutgoingRequest } from "../../plugin/host/agent-host.ts";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";
import type { AnswerFacts } from "./answer-facts.ts";
import { modelOf } from "./model-list.ts";

/** A request as the host shows it before it is written for a provider. All of it may be changed. */
export interface ContextEvent {
  readonly sessionID: string;
  readonly agent?: string;
  readonly model?: unknown;
  system: unknown[];
  messages: object[];
  tools: Record<string, unknown>;
}

/** The request that an event is, as the plugin edits it: its prompt head is the system prompt and the tools. */
export function outgoingRequest(event: ContextEvent, answers: AnswerFacts): OutgoingRequest {
  return {
    sessionId: event.sessionID,
    get messages() {
      return event.messages;
    },
    model: modelOf(event.model),
    get lastAnswerAtMs() {
      const ids = event.messages.map((message) => asString(asObject(message).id) ?? "");
      return ids.map((id) => answers.of(id)?.endedAtMs).findLast((atMs) => atMs !== undefined);
    },
    get promptHead() {
      return { system: event.system, tools: event.tools };
    },
    set promptHead(promptHead: unknown) {
      const { system, tools } = asObject(promptHead);
      event.system.splice(0, event.system.length, ...asArray(system));
      for (const name of Object.keys(event.tools)) delete event.tools[name];
      Object.assign(event.tools, structuredClone(asObject(tools)));
    },
  } as OutgoingRequest;
}

/** Restores an event; late edits then change lists that are not sent. */
export function restoreContext(event: ContextEvent): () => void {
  const { system, messages, tools } = event;
  const before = { system: [...system], messages: [...messages], tools: { ...tools } };
  return () => Object.assign(event, before);
}
