import { createCallNamer } from "../../transcript/message.ts";
import type { CallId, Part } from "../../transcript/part.ts";
import { hashEnds } from "./message-id.ts";

/** A call id that every API takes: itself when it has 1 to 64 letters, digits, `_` and `-`; else a name derived from it. */
export function safeCallId(callId: CallId, maxChars: number = MAX_CALL_ID_CHARS): CallId {
  if (callId.length <= maxChars && SAFE.test(callId)) return callId;
  const name = callId.slice(0, maxChars - HASH_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  return `${name}_${(hashEnds(callId) >>> 0).toString(36)}`;
}

const SAFE = /^[a-zA-Z0-9_-]+$/;
const MAX_CALL_ID_CHARS = 64;
const HASH_CHARS = 16;

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

/** Calls that wait for their result, by the id that the wire gives them. */
interface OpenCalls<Call> {
  /** `message` tells whether two calls are of one message. */
  add(callId: CallId, message: unknown, call: Call): void;
  /** The call that the next result with this id answers. */
  take(callId: CallId): Call | undefined;
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
