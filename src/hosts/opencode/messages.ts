import {
  decodeMessages,
  type SessionMessage,
  type SessionPart,
} from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { HostFormat, MessageNote, OutgoingRequest, TurnSettings } from "../../plugin/host/agent-host.ts";
import { targetsOf } from "../../session/history.ts";
import {
  asNumber,
  asObject,
  asString,
  deepEqual,
  omitUndefined,
  textOrJson,
  type UnknownObject,
} from "../../text/json.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";

/** OpenCode's stored messages as the plugin reads and writes them. Notes of the plugin stand in the metadata of parts. */
export const messageFormat: HostFormat = {
  decode: (messages) => decodeMessages(messages as readonly SessionMessage[]).transcript,
  apply: (messages, edits, options) => applyToTargets(messages as readonly SessionMessage[], edits, options),
  createDecoder: createMemoizedDecode as HostFormat["createDecoder"],
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

/** Looks only at the messages that edits speak of, where the others cannot change what becomes of them. */
function applyToTargets(
  messages: readonly SessionMessage[],
  edits: readonly Edit[],
  options: { readonly at: number },
): readonly SessionMessage[] {
  const targets = new Set(edits.flatMap(targetsOf));
  const isTarget = ({ info }: SessionMessage): boolean => targets.has(textOrJson(info.id));
  const isLocal = edits.every(({ type }) => type === "hide-part" || type === "replace-part");
  const wanted = isLocal ? messages.filter(isTarget) : [];
  const byId = new Map(wanted.map((message) => [message.info.id, message]));
  if (!isLocal || byId.size !== wanted.length || !wanted.every(({ parts }) => parts.every(standsAlone)))
    return opencode.apply(messages, edits, options);
  const applied = new Map(
    opencode.apply(wanted, edits, options).map((message) => [message.info.id, message]),
  );
  return messages.flatMap((message) => (isTarget(message) ? (applied.get(message.info.id) ?? []) : message));
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

/**
 * Reads the list of one session as it is sent again and again, exactly as `decodeMessages` does. What says the same as the
 * last time becomes the very same message, so that caches by message identity hold.
 */
export function createMemoizedDecode(): (wire: readonly SessionMessage[]) => Transcript {
  let known: ReadonlyMap<string, Known> = new Map();
  return (wire) => {
    const now = new Map<string, Known>();
    const callIds = new Set<unknown>();
    for (const each of wire) {
      const id = asString(each?.info?.id);
      const entry = id === undefined || now.has(id) ? undefined : read(known.get(id), each);
      if (id === undefined || entry === undefined || repeatsCall(each, callIds)) {
        known = new Map();
        return decodeMessages(wire).transcript;
      }
      now.set(id, entry);
    }
    known = now;
    return Array.from(now.values(), ({ message }) => message);
  };
}

/** Calls that share an id get names by their order. */
function repeatsCall({ parts }: SessionMessage, seen: Set<unknown>): boolean {
  return parts.some(({ type, callID }) => {
    if (type !== "tool") return false;
    const isRepeated = seen.has(callID);
    seen.add(callID);
    return isRepeated;
  });
}

interface Known {
  /** A copy: the host's own list goes on to other plugins, which may change it in place. */
  readonly wire: SessionMessage;
  readonly message: Message;
}

/** Undefined where other messages decide what this one becomes. */
function read(before: Known | undefined, each: SessionMessage): Known | undefined {
  if (before !== undefined && decodesEqual(before.wire, each)) return before;
  if (!Array.isArray(each.parts) || !each.parts.every(standsAlone)) return undefined;
  const wire = deepCopy(each, 0) as SessionMessage;
  const [message] = decodeMessages([wire]).transcript;
  return message === undefined ? undefined : { wire, message };
}

/** Older messages keep results in parts of their own, and calls without an id are named after their place. */
export function standsAlone(part: unknown): boolean {
  const { type, callID } = asObject(part);
  if (type === "tool") return typeof callID === "string" && callID !== "";
  return typeof type === "string" && !type.startsWith("tool");
}

function deepCopy(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => deepCopy(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deepCopy(item, depth + 1)]));
}

/** As deep as values are compared. */
const MAX_DEPTH = 64;

/**
 * True only when two messages of the host become the same message of a transcript. Looks at what is read of them and at
 * nothing else: this runs over a whole conversation before every request.
 */
export function decodesEqual(one: SessionMessage, other: SessionMessage): boolean {
  const { length } = one.parts;
  if (!Array.isArray(other.parts) || other.parts.length !== length) return false;
  if (!isSameInfo(asObject(one.info), asObject(other.info))) return false;
  for (let index = 0; index < length; index++) {
    if (!isSamePart(asObject(one.parts[index]), asObject(other.parts[index]))) return false;
  }
  return true;
}

function isSameInfo(one: UnknownObject, other: UnknownObject): boolean {
  return (
    one.id === other.id &&
    one.role === other.role &&
    one.finish === other.finish &&
    one.parentID === other.parentID &&
    one.providerID === other.providerID &&
    one.modelID === other.modelID &&
    // A user's message has all its diffs there, which decoding ignores.
    (one.summary === true) === (other.summary === true) &&
    asObject(one.time).created === asObject(other.time).created &&
    isSameUsage(one.tokens, other.tokens) &&
    isSameModel(asObject(one.model), asObject(other.model)) &&
    deepEqual(one.error, other.error) &&
    deepEqual(one.metadata, other.metadata)
  );
}

function isSameUsage(tokensOfOne: unknown, tokensOfOther: unknown): boolean {
  if (typeof tokensOfOne !== typeof tokensOfOther) return false;
  const [one, other] = [asObject(tokensOfOne), asObject(tokensOfOther)];
  const [cache, otherCache] = [asObject(one.cache), asObject(other.cache)];
  return (
    (tokensOfOne === null) === (tokensOfOther === null) &&
    one.total === other.total &&
    one.input === other.input &&
    one.output === other.output &&
    one.reasoning === other.reasoning &&
    cache.read === otherCache.read &&
    cache.write === otherCache.write
  );
}

function isSameModel(one: UnknownObject, other: UnknownObject): boolean {
  return one.providerID === other.providerID && one.modelID === other.modelID;
}

function isSamePart(one: UnknownObject, other: UnknownObject): boolean {
  if (one.type !== other.type) return false;
  switch (one.type) {
    case "text":
    case "reasoning":
      return (
        one.text === other.text &&
        one.synthetic === other.synthetic &&
        one.ignored === other.ignored &&
        deepEqual(one.metadata, other.metadata)
      );
    case "tool":
      return one.callID === other.callID && one.tool === other.tool && isSameState(one.state, other.state);
    case "step-start":
    case "step-finish":
      // Decoding reads nothing of these two, which stand around every step.
      return true;
    default:
      return deepEqual(one, other);
  }
}

function isSameState(stateOfOne: unknown, stateOfOther: unknown): boolean {
  const [one, other] = [asObject(stateOfOne), asObject(stateOfOther)];
  return (
    one.status === other.status &&
    one.output === other.output &&
    one.error === other.error &&
    isSameInput(one.input, other.input) &&
    asObject(one.time).compacted === asObject(other.time).compacted &&
    deepEqual(one.attachments, other.attachments) &&
    isSameNote(asObject(one.metadata), asObject(other.metadata))
  );
}

/** A fast path for inputs that are a few strings. */
function isSameInput(one: unknown, other: unknown): boolean {
  const [values, others] = [asObject(one), asObject(other)];
  let names = 0;
  for (const name in values) {
    if (typeof values[name] !== "string" || values[name] !== others[name]) return deepEqual(one, other);
    names += 1;
  }
  for (const _ in others) names -= 1;
  return names === 0 && Array.isArray(one) === Array.isArray(other) && typeof one === typeof other;
}

/** Tools keep much in their metadata; what an edit of ours left there is read, and what a stopped call had printed. */
function isSameNote(one: UnknownObject, other: UnknownObject): boolean {
  return (
    one.interrupted === other.interrupted &&
    (one.interrupted !== true || one.output === other.output) &&
    deepEqual(one.carryover, other.carryover)
  );
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
