import { type Fields, fields } from "../../formats/fields.ts";
import {
  messagesOf,
  type OpenCodeWire,
  type SessionMessage,
  type SessionPart,
  withMessages,
} from "../../formats/opencode/session-message.ts";

/**
 * An OpenCode session that `opencode import` accepts: messages that an edit inserted take the agent, the model and
 * whatever else is asked for from the nearest message of their role. The same reference where none lacks anything.
 */
export function importableSession(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const complete = messages.map((message, index) => completed(message, { messages, index }));
  return complete.every((message, index) => message === messages[index])
    ? wire
    : withMessages(wire, complete);
}

interface Place {
  readonly messages: readonly SessionMessage[];
  readonly index: number;
}

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  user: ["agent", "model"],
  assistant: ["parentID", "modelID", "providerID", "mode", "agent", "path", "cost", "tokens"],
};

/** Nothing was paid for what an edit inserted. */
const OWN: Fields = {
  cost: 0,
  tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
};

function completed(message: SessionMessage, place: Place): SessionMessage {
  const info = fields(fields(message).info);
  const missing = (REQUIRED[`${info.role}`] ?? []).filter((name) => info[name] === undefined);
  const model = missing.length === 0 ? undefined : nearest(place, `${info.role}`);
  if (model === undefined) return message;
  const lent = Object.fromEntries(missing.map((name) => [name, OWN[name] ?? model[name]]));
  return {
    info: { ...message.info, ...lent },
    parts: message.parts.map((part) => withPartId(part)),
  };
}

/** The `info` of the nearest message that has all that its role asks for. */
function nearest({ messages, index }: Place, role: string): Fields | undefined {
  const isWhole = (info: Fields): boolean =>
    info.role === role && (REQUIRED[role] ?? []).every((name) => info[name] !== undefined);
  for (let distance = 1; distance < messages.length; distance++) {
    for (const at of [index + distance, index - distance]) {
      const info = fields(fields(messages[at]).info);
      if (isWhole(info)) return info;
    }
  }
  return undefined;
}

/** OpenCode knows a part by how its id begins. */
function withPartId(part: SessionPart): SessionPart {
  const { id } = part;
  return typeof id === "string" && !id.startsWith("prt") ? { ...part, id: `prt_${id}` } : part;
}
