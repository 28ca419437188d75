import { safeJson } from "../../text/json.ts";
import type { Role } from "../../transcript/message.ts";
import type { MessageId, Part } from "../../transcript/part.ts";

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
