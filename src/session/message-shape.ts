import { type Fields, isFields } from "../text/is-fields.ts";
import type { Message } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";

/** True for a value from outside that is a message with nothing in it that could not be read. */
export function isMessage(value: unknown): value is Message {
  return hasMessageFields(value) && value.parts.every(isPart);
}

/** True for a value from outside that is a part of a message. */
export function isPart(value: unknown): value is Part {
  if (!isFields(value)) return false;
  switch (value.type) {
    case "text":
    case "reasoning":
      return typeof value.text === "string";
    case "tool":
      return typeof value.callId === "string" && typeof value.tool === "string" && isOutcome(value.outcome);
    case "file":
      return typeof value.mime === "string";
    case "compaction":
      return value.trigger === "auto" || value.trigger === "manual";
    case "opaque":
      return typeof value.name === "string";
    default:
      return false;
  }
}

/** What can be read of something given as a message: nothing of what is none, and of its parts those that are parts. */
export function readableMessage(given: Message): readonly Message[] {
  if (isMessage(given)) return [given];
  if (!hasMessageFields(given)) return [];
  const message: Message = given;
  // In its place, so that the parts behind it keep their handles.
  return [{ ...message, parts: message.parts.map((part) => (isPart(part) ? part : UNREADABLE)) }];
}

const UNREADABLE: Part = { type: "opaque", name: "unreadable" };

function hasMessageFields(value: unknown): value is Fields & { readonly parts: readonly unknown[] } {
  return (
    isFields(value) &&
    typeof value.id === "string" &&
    typeof value.role === "string" &&
    Array.isArray(value.parts)
  );
}

function isOutcome(value: unknown): boolean {
  if (!isFields(value)) return false;
  if (value.status === "pending") return true;
  if (value.status === "failed") return typeof value.error === "string";
  const { status, output, attachments } = value;
  return (
    status === "done" && typeof output === "string" && Array.isArray(attachments) && attachments.every(isPart)
  );
}
