import { createHash, randomBytes } from "node:crypto";
import { type Opencode2Message, opencode2Request } from "../../formats/wires/opencode2/opencode2-request.ts";
import type { HostFormat, HostMessage, MessageNote, TurnSettings } from "../../plugin/host/agent-host.ts";
import type { HostCheckpoint, HostCheckpoints } from "../../plugin/host/host-parts.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asArray, asObject, asString, omitUndefined } from "../../text/unknown-value.ts";
import type { Message, MessageError, ModelRef, Transcript, Usage } from "../../transcript/message.ts";

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

/** What the events of the host said about the answers of the model. */
export interface AnswerFacts {
  of(messageId: string): AnswerFact | undefined;
  /** Adds to what is known of an answer. */
  learn(messageId: string, fact: AnswerFact): void;
}

interface AnswerFact {
  readonly agent?: string;
  readonly model?: ModelRef;
  readonly variant?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly finish?: string;
  readonly usage?: Usage;
  readonly error?: MessageError;
}

export function createAnswerFacts(): AnswerFacts {
  const known = createLruMap<string, AnswerFact>(MAX_ANSWERS);
  return {
    of: known.get,
    learn: (messageId, fact) => known.set(messageId, { ...known.get(messageId), ...fact }),
  };
}

const MAX_ANSWERS = 16_384;

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
  const note = omitUndefined({ promptKey: asString(prompt), inheritedBy: INHERITED_ID.exec(id ?? "")?.[1] });
  return Object.keys(note).length === 0 ? [] : [{ index, messageId: id, ...note }];
}

function handlesIn(result: unknown): readonly string[] {
  const { value } = asObject(result);
  const text = asString(value) ?? textOfContent(value);
  return [...text.matchAll(NOTED_HANDLE)].map(([, handle = ""]) => handle);
}

const NOTED_HANDLE = /handle and sha256 ([0-9a-f]{64})/g;

/** A new id in the host's own form, which sorts by time, marked as ours; for the same key and time always the same. */
export function ownMessageId({ atMs, key }: { readonly atMs: number; readonly key?: string }): string {
  const rest =
    key === undefined
      ? randomBytes(9).toString("base64url")
      : createHash("sha256").update(key).digest("base64url").slice(0, 12);
  return `${timePart(atMs)}${OWN_MARK}${rest}`;
}

/** The id of the message that holds what a text fork inherits. */
export function inheritedMessageId(forkId: string, atMs: number): string {
  return `${timePart(atMs)}${OWN_MARK}inherited_${forkId}`;
}

function timePart(atMs: number): string {
  const time = (BigInt(Math.floor(atMs)) * 0x1000n) & 0xffff_ffff_ffffn;
  return `msg_${time.toString(16).padStart(12, "0")}`;
}

/** True for a message that the plugin has sent. */
export function isOwnId(messageId: string): boolean {
  return messageId.includes(OWN_MARK);
}

const OWN_MARK = "_carryover_";
const INHERITED_ID = new RegExp(`${OWN_MARK}inherited_(.+)$`);

/** The texts of a message, for what looks only at words. */
export function textOfContent(content: unknown): string {
  return asArray(content)
    .map((part) => asString(asObject(part).text) ?? "")
    .join("");
}

/** The summaries of the host as it sends them: a message of the user, with the newest turns as text behind the summary. */
export const opencode2Checkpoints: HostCheckpoints = {
  find: (messages) => messages.flatMap((message, index) => checkpointIn(message, index)),
  write(message, summary) {
    const text = textIn(message);
    const [start] = summaryPlace(text);
    const written = `${text.slice(0, start)}${summary}${CLOSING}\n</conversation-checkpoint>`;
    const [, ...rest] = asArray(asObject(message).content);
    return { ...message, content: [{ type: "text", text: written }, ...rest] };
  },
};

/** True for a text with which the host's summary begins. */
function isCheckpointText(text: string): boolean {
  return text.startsWith("<conversation-checkpoint>");
}

function checkpointIn(message: HostMessage, index: number): readonly HostCheckpoint[] {
  const text = asObject(message).role === "user" ? textIn(message) : "";
  if (!isCheckpointText(text)) return [];
  const [start, end] = summaryPlace(text);
  return start === -1 ? [] : [{ index, summary: withoutHeading(text.slice(start, end)) }];
}

function textIn(message: HostMessage): string {
  const [first] = asArray(asObject(message).content);
  return asString(asObject(first).text) ?? "";
}

function summaryPlace(text: string): readonly [start: number, end: number] {
  const opening = text.indexOf(OPENING);
  if (opening === -1) return [-1, -1];
  const start = opening + OPENING.length;
  const recent = text.indexOf(`${CLOSING}\n\n<recent-context>`, start);
  const end = recent === -1 ? text.lastIndexOf(CLOSING) : recent;
  return end < start ? [-1, -1] : [start, end];
}

const OPENING = "<summary>\n";
const CLOSING = "\n</summary>";

/** GA asks once more for a summary that has none of its headings. */
export const HEADING = "## Additional Context";

function withoutHeading(summary: string): string {
  return summary.startsWith(HEADING) ? summary.slice(HEADING.length).trimStart() : summary;
}
