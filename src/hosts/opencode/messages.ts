import {
  decodeMessages,
  type SessionMessage,
  type SessionPart,
} from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { HostFormat, MessageNote, OutgoingRequest, TurnSettings } from "../../plugin/host/agent-host.ts";
import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../text/unknown-value.ts";

/** OpenCode's stored messages as the plugin reads and writes them. Notes of the plugin stand in the metadata of parts. */
export const messageFormat: HostFormat = {
  decode: (messages) => decodeMessages(messages as readonly SessionMessage[]).transcript,
  apply: (messages, edits, options) => opencode.apply(messages as readonly SessionMessage[], edits, options),
  notesIn: (messages) => (messages as readonly SessionMessage[]).flatMap(notesOn),
  turnOf: (messages) => lastTurn(messages as readonly SessionMessage[]),
  withoutResults: (messages) => (messages as readonly SessionMessage[]).map(withoutResults),
  copy: (message) => copyOf(message as SessionMessage),
  textMessage: (text, place) => textMessage(text, place),
};

/** The metadata that marks a part as written by the plugin, so that forks leave it out. */
export const OWN_METADATA: UnknownObject = { carryover: true };

/** What the plugin noted in the metadata of a part, or of the state of a tool part. */
export function carryoverNote(metadata: unknown): UnknownObject {
  return asObject(asObject(metadata).carryover);
}

function notesOn({ info, parts }: SessionMessage, index: number): readonly MessageNote[] {
  return parts.flatMap((part) => {
    const { prompt, inherited } = carryoverNote(part.metadata);
    const { handle } = part.type === "tool" ? carryoverNote(asObject(part.state).metadata) : {};
    const note = omitUndefined({
      promptKey: asString(prompt),
      inheritedBy: asString(inherited),
      handle: asString(handle),
    });
    return Object.keys(note).length === 0 ? [] : [{ index, messageId: info.id, ...note }];
  });
}

/** The settings of the newest user turn among some messages. */
function lastTurn(messages: readonly SessionMessage[]): TurnSettings {
  const info = asObject(messages.findLast(({ info }) => info.role === "user")?.info);
  const model = asObject(info.model);
  const providerId = asString(model.providerID);
  const modelId = asString(model.modelID);
  const variant = asString(model.variant) ?? asString(info.variant);
  return omitUndefined({
    agent: asString(info.agent),
    model:
      providerId === undefined || modelId === undefined
        ? undefined
        : omitUndefined({ providerId, modelId, variant }),
    system: asString(info.system),
  });
}

/** The settings of the newest turn that a person began; of any turn where there is none. */
export function lastUserTurn(messages: readonly SessionMessage[]): TurnSettings {
  const spoken = messages.filter(
    ({ info, parts }) =>
      info.role === "user" && parts.some((part) => part.type === "text" && part.synthetic !== true),
  );
  return lastTurn(spoken.length === 0 ? messages : spoken);
}

function withoutResults(message: SessionMessage): SessionMessage {
  return message.parts.some((part) => addedSpan(part) !== undefined)
    ? { ...message, parts: message.parts.map(withoutResult) }
    : message;
}

/** Where fork results stand in a tool output. The note is called `ride` in stored sessions. */
function addedSpan(part: SessionPart): { readonly offset: number; readonly length: number } | undefined {
  const ride = asObject(carryoverNote(asObject(part.state).metadata).ride);
  const offset = asNumber(ride.offset);
  const length = asNumber(ride.length);
  return offset === undefined || length === undefined ? undefined : { offset, length };
}

function withoutResult(part: SessionPart): SessionPart {
  const span = addedSpan(part);
  const state = asObject(part.state);
  if (span === undefined || typeof state.output !== "string") return part;
  const output = state.output.slice(0, span.offset) + state.output.slice(span.offset + span.length);
  return { ...part, state: { ...state, output } };
}

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

function textMessage(
  text: string,
  place: { readonly sessionId: string; readonly id: string } | undefined,
): SessionMessage {
  if (place === undefined) return { info: { role: "user" }, parts: [{ type: "text", text }] };
  const { sessionId: sessionID } = place;
  const id = `msg_${place.id}`;
  return {
    info: { id, sessionID, role: "user", time: { created: 0 } },
    parts: [{ id: `prt_${place.id}`, sessionID, messageID: id, type: "text", text, synthetic: true }],
  };
}

/** The request that a list of messages is: the newest message is always of its session. */
export function outgoingRequest(list: () => SessionMessage[]): OutgoingRequest | undefined {
  const sessionId = asString(list().at(-1)?.info?.sessionID);
  if (sessionId === undefined) return undefined;
  return {
    sessionId,
    get messages() {
      return list();
    },
    get model() {
      const info = list().findLast((message) => message?.info?.role === "user")?.info;
      const { providerID, modelID } = asObject(info?.model);
      return { provider: asString(providerID) ?? "", id: asString(modelID) ?? "" };
    },
    get lastAnswerAtMs() {
      return list()
        .map((message) => (message?.info?.role === "assistant" ? completedAtMs(message) : undefined))
        .findLast((atMs) => atMs !== undefined);
    },
  } as OutgoingRequest;
}

function completedAtMs({ info }: SessionMessage): number | undefined {
  return asNumber(asObject(info.time).completed);
}
