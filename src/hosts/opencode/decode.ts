import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import { asObject, asString, deepEqual, type UnknownObject } from "../../text/json.ts";
import type { Message, Transcript } from "../../transcript/message.ts";

/**
 * Reads the list of one session as it is sent again and again, exactly as `opencode.decode` does. What says the same as the
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
        return opencode.decode(wire);
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
  const wire = copyOf(each, 0) as SessionMessage;
  const [message] = opencode.decode([wire]);
  return message === undefined ? undefined : { wire, message };
}

/** Older messages keep results in parts of their own, and calls without an id are named after their place. */
export function standsAlone(part: unknown): boolean {
  const { type, callID } = asObject(part);
  if (type === "tool") return typeof callID === "string" && callID !== "";
  return typeof type === "string" && !type.startsWith("tool");
}

function copyOf(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item, depth + 1)]));
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
