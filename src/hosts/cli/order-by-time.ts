import { fields, numberField } from "../../formats/fields.ts";
import {
  messagesOf,
  type OpenCodeWire,
  type SessionMessage,
  withMessages,
} from "../../formats/opencode/session-message.ts";

/**
 * An OpenCode session whose messages have their times in the order of the list, which is how OpenCode sorts them: what
 * was inserted or moved to the front is dated before what follows it. The same reference where they are in order.
 */
export function orderByTime(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const ordered: SessionMessage[] = [];
  let next = Number.POSITIVE_INFINITY;
  let isChanged = false;
  for (const message of messages.toReversed()) {
    const created = numberField(fields(fields(fields(message).info).time).created);
    const isLate = created !== undefined && created > next;
    ordered.push(isLate ? dated(message, next - 1) : message);
    isChanged ||= isLate;
    next = Math.min(next, created ?? next) - (isLate ? 1 : 0);
  }
  return isChanged ? withMessages(wire, ordered.reverse()) : wire;
}

function dated(message: SessionMessage, created: number): SessionMessage {
  return { ...message, info: { ...message.info, time: { ...fields(message.info.time), created } } };
}
