import { fields, stringField } from "../../../formats/fields.ts";
import { opencode } from "../../../formats/opencode/opencode.ts";
import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import type { Message, Transcript } from "../../../transcript/message.ts";
import { becomesSame } from "./becomes-same.ts";

/**
 * Reads the list of one session as it is sent again and again, exactly as `opencode.decode` does. What says the same as the
 * last time becomes the very same message, so that whoever compares or measures transcripts has it done already.
 */
export function createRepeatedDecode(): (wire: readonly SessionMessage[]) => Transcript {
  let known: ReadonlyMap<string, Known> = new Map();
  return (wire) => {
    const now = new Map<string, Known>();
    for (const each of wire) {
      const id = stringField(each?.info?.id);
      const entry = id === undefined || now.has(id) ? undefined : read(known.get(id), each);
      if (id === undefined || entry === undefined) {
        known = new Map();
        return opencode.decode(wire);
      }
      now.set(id, entry);
    }
    known = now;
    return Array.from(now.values(), ({ message }) => message);
  };
}

interface Known {
  /** A copy: the host's own list goes on to other plugins, which may change it in place. */
  readonly wire: SessionMessage;
  readonly message: Message;
}

/** Nothing where it depends on the other messages what this one becomes. */
function read(before: Known | undefined, each: SessionMessage): Known | undefined {
  if (before !== undefined && becomesSame(before.wire, each)) return before;
  if (!Array.isArray(each.parts) || !each.parts.every(standsAlone)) return undefined;
  const wire = copyOf(each, 0) as SessionMessage;
  const [message] = opencode.decode([wire]);
  return message === undefined ? undefined : { wire, message };
}

/** Older messages keep results in parts of their own, and calls without an id are named after their place. */
function standsAlone(part: unknown): boolean {
  const { type, callID } = fields(part);
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
