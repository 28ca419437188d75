import { type Opencode2Message, opencode2Request } from "../../formats/wires/opencode2/opencode2-request.ts";
import type { HostFormat, HostMessage, MessageNote, TurnSettings } from "../../plugin/host/agent-host.ts";
import { asArray, asObject, asString, omitUndefined } from "../../text/unknown-value.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { AnswerFacts } from "./answer-facts.ts";
import { isCheckpointText, opencode2Checkpoints } from "./checkpoints.ts";
import { inheritedForkId, isOwnId } from "./own-ids.ts";

/**
 * OpenCode 2's messages as it sends them. They say less than the stored ones: how an answer ended, what it cost and which
 * model gave it come from the events of this program (`AnswerFacts`). An answer from before its start that calls no tool is
 * taken for finished: the host stores a text only when it is whole.
 */
export function createMessageFormat(answers: AnswerFacts): HostFormat {
  const decode = (messages: readonly HostMessage[]): Transcript =>
    opencode2Request.decode(asWire(messages)).map((message) => withFacts(message, answers));
  return {
    decode,
    apply: (messages, edits, options) => opencode2Request.apply(asWire(messages), edits, options),
    notesIn: (messages) => asWire(messages).flatMap(notesOn),
    turnOf: (messages) => lastTurn(asWire(messages), answers),
    // Nothing is added to tool outputs: results come as messages of their own.
    withoutResults: (messages) => messages,
    copy: (message) => structuredClone({ ...message }),
    textMessage: (text, place) =>
      omitUndefined({ id: place && `msg_${place.id}`, role: "user", content: [{ type: "text", text }] }),
    checkpoints: opencode2Checkpoints,
  };
}

function asWire(messages: readonly HostMessage[]): readonly Opencode2Message[] {
  return messages as readonly Opencode2Message[];
}

function withFacts(message: Message, answers: AnswerFacts): Message {
  const { id, role, parts } = message;
  if (role === "user") {
    if (isCheckpoint(message)) return { ...message, summary: true, finish: "stop" };
    if (!isOwnId(id)) return message;
    return {
      ...message,
      parts: parts.map((part) => (part.type === "text" ? { ...part, synthetic: true, own: true } : part)),
    };
  }
  if (role !== "assistant") return message;
  const fact = answers.of(id);
  const calls = parts.some(({ type }) => type === "tool");
  if (fact === undefined) return { ...message, finish: calls ? "tool-calls" : "stop" };
  const { startedAtMs: createdAt, finish, usage, error, model } = fact;
  return { ...message, ...omitUndefined({ createdAt, finish, usage, error, model }) };
}

/** The host's summary of everything before it, which it sends as the user's. */
function isCheckpoint({ parts: [first] }: Message): boolean {
  return first?.type === "text" && isCheckpointText(first.text);
}

function lastTurn(messages: readonly Opencode2Message[], answers: AnswerFacts): TurnSettings {
  const fact = messages
    .map(({ id }) => (id === undefined ? undefined : answers.of(id)))
    .findLast((each) => each?.agent !== undefined);
  const { agent, model, variant } = fact ?? {};
  return omitUndefined({
    agent,
    model: model && omitUndefined({ providerId: model.provider, modelId: model.id, variant }),
  });
}

/**
 * The metadata of a prompt is given back with its message. That of a program's message is not, so its id says it; nor is that
 * of a tool output, so the notice in it does.
 */
function notesOn({ id, role, metadata, content }: Opencode2Message, index: number): readonly MessageNote[] {
  if (role === "tool") {
    const handles = asArray(content).flatMap((part) => handlesIn(asObject(part).result));
    return handles.map((handle) => ({ index, messageId: id, handle }));
  }
  const { prompt } = asObject(asObject(metadata).carryover);
  const note = omitUndefined({ promptKey: asString(prompt), inheritedBy: inheritedForkId(id ?? "") });
  return Object.keys(note).length === 0 ? [] : [{ index, messageId: id, ...note }];
}

function handlesIn(result: unknown): readonly string[] {
  const { value } = asObject(result);
  const text = asString(value) ?? textOfContent(value);
  return [...text.matchAll(NOTED_HANDLE)].map(([, handle = ""]) => handle);
}

const NOTED_HANDLE = /handle and sha256 ([0-9a-f]{64})/g;

/** The texts of a message, for what looks only at words. */
export function textOfContent(content: unknown): string {
  return asArray(content)
    .map((part) => asString(asObject(part).text) ?? "")
    .join("");
}
