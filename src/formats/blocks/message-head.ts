import { asNumber, asObject, asString, omitUndefined, safeJson } from "../../text/json.ts";
import { readCarriedFacts } from "../../transcript/carried-facts.ts";
import { createCallNamer, type MessageMetadata, type Role, type Usage } from "../../transcript/message.ts";
import type { CallId, MessageId, Part } from "../../transcript/part.ts";

/** The names under which a format keeps token counts. */
export interface UsageNames {
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite?: string;
  readonly reasoning?: string;
  readonly total?: string;
  /** Set when the input count includes the tokens read from the cache. */
  readonly inputIncludesCache?: true;
}

/** Token counts under the names of a format; undefined for what is no object. */
export function readUsage(value: unknown, names: UsageNames): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asObject(value);
  const count = (name: string | undefined) => (name === undefined ? undefined : asNumber(usage[name]));
  const inputTokens = count(names.input) ?? 0;
  const cacheReadTokens = count(names.cacheRead) ?? 0;
  return omitUndefined({
    inputTokens: names.inputIncludesCache ? Math.max(0, inputTokens - cacheReadTokens) : inputTokens,
    outputTokens: count(names.output) ?? 0,
    reasoningTokens: count(names.reasoning) ?? 0,
    cacheReadTokens,
    cacheWriteTokens: count(names.cacheWrite) ?? 0,
    totalTokens: count(names.total),
  });
}

/** Our own metadata of a message, read back from where a format keeps it; undefined when nothing in it is set. */
export function readMetadata(value: unknown): MessageMetadata | undefined {
  const { agentVisible, userVisible, kind, carried } = asObject(value);
  const metadata = omitUndefined({
    agentVisible: typeof agentVisible === "boolean" ? agentVisible : undefined,
    userVisible: typeof userVisible === "boolean" ? userVisible : undefined,
    kind: asString(kind),
    carried: carried === undefined ? undefined : readCarriedFacts(carried),
  });
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

/**
 * An id for a message of a wire without ids, from its position and content. Results do not count, since
 * they come later than their call; neither does reasoning beside other parts, since hosts take it out of old turns.
 */
export function derivedMessageId(position: number, role: Role, parts: readonly Part[]): MessageId {
  let hash = hashEnds(role, SEED);
  const isOnlyReasoning = parts.every((part) => part.type === "reasoning");
  for (const part of parts) {
    if (part.type !== "reasoning" || isOnlyReasoning) hash = hashEnds(keyOf(part), hash);
  }
  return `m${position + 1}-${(hash >>> 0).toString(36)}`;
}

/** A stable hash of a text; of a long text only both ends count. */
export function hashEnds(text: string, seed: number = SEED): number {
  let hash = seed ^ text.length;
  // Hashing both ends is enough to tell texts apart, and keeps the cost of a long text constant.
  for (let index = 0; index < text.length; index++) {
    if (index === ENDS_CHARS && text.length > 2 * ENDS_CHARS) index = text.length - ENDS_CHARS;
    hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  }
  return hash;
}

const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const ENDS_CHARS = 256;

function keyOf(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool":
      return `${part.tool} ${part.callMissing ? part.callId : safeJson(part.input)}`;
    case "file":
      return `${part.mime} ${part.filename ?? ""} ${part.sizeBytes ?? ""}`;
    case "compaction":
      return part.trigger;
    case "opaque":
      return part.name;
    default:
      return part satisfies never;
  }
}

/** A call id that every API takes: itself when it has 1 to 64 letters, digits, `_` and `-`; else a name derived from it. */
export function safeCallId(callId: CallId, maxChars: number = MAX_CALL_ID_CHARS): CallId {
  if (callId.length <= maxChars && SAFE.test(callId)) return callId;
  const name = callId.slice(0, maxChars - HASH_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  return `${name}_${(hashEnds(callId) >>> 0).toString(36)}`;
}

const SAFE = /^[a-zA-Z0-9_-]+$/;
const MAX_CALL_ID_CHARS = 64;
const HASH_CHARS = 16;

/** Calls that wait for their result, by the id that the wire gives them. */
interface OpenCalls<Call> {
  /** `message` tells whether two calls are of one message. */
  add(callId: CallId, message: unknown, call: Call): void;
  /** The call that the next result with this id answers. */
  take(callId: CallId): Call | undefined;
}

/**
 * Servers give one id to many calls. A result answers the newest message that called it, and there the first call that
 * has none: so it stays with its call whichever other pairs are taken out of the wire.
 */
export function createOpenCalls<Call>(): OpenCalls<Call> {
  const waiting = new Map<CallId, OpenMessage<Call>[]>();
  return {
    add(callId, message, call) {
      const messages = waiting.get(callId) ?? [];
      waiting.set(callId, messages);
      const newest = messages.at(-1);
      if (newest !== undefined && newest.message === message) newest.calls.push(call);
      else messages.push({ message, calls: [call], next: 0 });
    },
    take(callId) {
      const messages = waiting.get(callId);
      const newest = messages?.at(-1);
      if (messages === undefined || newest === undefined) return undefined;
      const call = newest.calls[newest.next++];
      if (newest.next === newest.calls.length) messages.pop();
      return call;
    },
  };
}

interface OpenMessage<Call> {
  readonly message: unknown;
  readonly calls: Call[];
  next: number;
}

/** Names the calls of a conversation; the first that gets another id than the wire gives it is marked. */
export function createMarkingNamer(): (part: Part) => Part {
  const nameCall = createCallNamer();
  let isMarked = false;
  return (part) => {
    if (part.type !== "tool" || part.callMissing) return part;
    const callId = nameCall(part.callId);
    if (callId === part.callId) return part;
    const mark = isMarked ? {} : { irregular: true as const };
    isMarked = true;
    return { ...part, callId, ...mark };
  };
}
