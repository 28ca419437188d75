import { safeJson } from "../../text/json.ts";
import type { MessageId, Role } from "../../transcript/message.ts";
import type { CallId, Part } from "../../transcript/part.ts";

/**
 * An id for a message of a wire that gives none, from its place and what it says. Results do not count, since
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

/** A number that is the same for the same text, on every machine; of a long text only both ends count. */
export function hashEnds(text: string, seed: number = SEED): number {
  let hash = seed ^ text.length;
  // Both ends tell texts of one length apart well enough, and a megabyte costs no more than a page.
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

/** A call id that every API takes: itself when it has 1 to 64 letters, digits, `_` and `-`; else a name made of it, other for other ids. */
export function safeCallId(callId: CallId): CallId {
  if (SAFE.test(callId)) return callId;
  const name = callId.slice(0, NAME_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  return `${name}_${(hashEnds(callId) >>> 0).toString(36)}`;
}

const SAFE = /^[a-zA-Z0-9_-]{1,64}$/;
const NAME_CHARS = 48;
