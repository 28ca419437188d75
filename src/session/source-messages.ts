import { deepEqual } from "../text/deep-equal.ts";
import { isObject } from "../text/unknown-value.ts";
import {
  checkTranscript,
  hasMessageFields,
  refuseForeign,
  refuseList,
} from "../transcript/check-transcript.ts";
import { type Message, type MessageId, type Transcript, withUniqueIds } from "../transcript/message.ts";
import type { CallId, Part, ToolPart } from "../transcript/part.ts";

/** The owner's messages with one more: one with a known id takes that message's place, and a result joins its call. */
export function appendTo(messages: Transcript, given: Message): Transcript {
  refuseList(given);
  const [whole] = sanitizeMessage(given);
  if (whole === undefined) return messages;
  const { joined, rest } = joinResults(messages, whole);
  if (rest.parts.length === 0 && rest !== whole) return joined;
  const known = joined.findLastIndex(({ id }) => id === rest.id);
  const index = known === -1 ? joined.length : known;
  const others = joined.toSpliced(index, 1);
  const message = (isRepeating([rest], others) && withUniqueIds([...others, rest]).at(-1)) || rest;
  if (deepEqual(joined[index], message)) return joined;
  return index === joined.length ? joined.concat(message) : joined.with(index, message);
}

/** The newest full list of messages that someone else owns: ids are unique, and what is equal stays the same object. */
export function observeIn(messages: Transcript, transcript: Transcript): Transcript {
  if (!Array.isArray(transcript)) checkTranscript(transcript, "transcript");
  const alike = firstDifference(messages, transcript);
  const given = sanitizeFrom(transcript, alike);
  const isRepeated = isRepeating(given.slice(alike), given.slice(0, alike));
  const newest = isRepeated ? withUniqueIds(given) : given;
  const same = isRepeated ? firstDifference(messages, newest) : alike;
  if (same === messages.length && same === newest.length) return messages;
  const older = new Map(messages.slice(same).map((message) => [message.id, message]));
  return messages.slice(0, same).concat(
    newest.slice(same).map((message) => {
      const old = older.get(message.id);
      return old !== undefined && deepEqual(old, message) ? old : message;
    }),
  );
}

/** Gives results that came without their calls to the calls that wait for them; the message that is left is for `appendTo`. */
function joinResults(
  messages: Transcript,
  message: Message,
): { readonly joined: Transcript; readonly rest: Message } {
  let joined = messages;
  const parts = message.parts.filter((part) => {
    if (part.type !== "tool" || !part.callMissing) return true;
    const index = joined.findLastIndex((each) => each.parts.some((call) => isWaiting(call, part.callId)));
    const caller = joined[index];
    if (caller === undefined) return true;
    const calls = caller.parts.map((call) =>
      isWaiting(call, part.callId) ? { ...call, outcome: part.outcome } : call,
    );
    joined = joined.with(index, { ...caller, parts: calls });
    return false;
  });
  return { joined, rest: parts.length === message.parts.length ? message : { ...message, parts } };
}

/** True when one of the newer messages has an id that another has, or a call of theirs has an empty id or one that another has. */
function isRepeating(newer: Transcript, before: Transcript): boolean {
  const ids = new Set<MessageId>();
  const callIds = new Set<CallId>([""]);
  for (const message of newer) {
    if (ids.has(message.id)) return true;
    ids.add(message.id);
    for (const part of message.parts) {
      if (!isCall(part)) continue;
      if (callIds.has(part.callId)) return true;
      callIds.add(part.callId);
    }
  }
  const isCallRepeated = (part: Part): boolean => isCall(part) && callIds.has(part.callId);
  return before.some(({ id, parts }) => ids.has(id) || (callIds.size > 1 && parts.some(isCallRepeated)));
}

/** True for the call of that id while it has no result. */
function isWaiting(part: Part, callId: CallId): part is ToolPart {
  return isCall(part) && part.callId === callId && part.outcome.status === "pending";
}

/** True for a call; a result without its call is none. */
function isCall(part: Part): part is ToolPart {
  return part.type === "tool" && !part.callMissing;
}

/** Messages from outside may not be what their type says; known ones were checked when they came in. */
function sanitizeFrom(transcript: Transcript, start: number): Transcript {
  const checked = transcript.slice(start).map(sanitizeMessage);
  const isAsGiven = checked.every(([message], index) => message === transcript[start + index]);
  return isAsGiven ? transcript : [...transcript.slice(0, start), ...checked.flat()];
}

function firstDifference(messages: Transcript, newest: Transcript): number {
  const end = Math.min(messages.length, newest.length);
  for (let index = 0; index < end; index++) {
    if (!deepEqual(messages[index], newest[index])) return index;
  }
  return end;
}

/** True for a value from outside that is a message with nothing in it that could not be read. */
export function isMessage(value: unknown): value is Message {
  return hasMessageFields(value) && value.parts.every(isPart);
}

/** True for a value from outside that is a part of a message. */
export function isPart(value: unknown): value is Part {
  if (!isObject(value)) return false;
  switch (value.type) {
    case "text":
    case "reasoning":
      return typeof value.text === "string";
    case "tool":
      return typeof value.callId === "string" && typeof value.tool === "string" && isOutcome(value.outcome);
    case "file":
      return true;
    case "compaction":
      return value.trigger === "auto" || value.trigger === "manual";
    case "opaque":
      return typeof value.name === "string";
    default:
      return false;
  }
}

/** The message with unreadable parts replaced by a placeholder; an empty list for a value that is no message. */
function sanitizeMessage(given: Message): readonly Message[] {
  if (isMessage(given) && isReadableUsage(given.usage)) return [given];
  if (!hasMessageFields(given)) {
    refuseForeign(given, "message");
    return [];
  }
  const { usage, ...message }: Message = given;
  // In its place, so that the parts behind it keep their handles.
  const parts = message.parts.map((part) => (isPart(part) ? part : UNREADABLE));
  return [{ ...message, parts, ...(usage !== undefined && isReadableUsage(usage) && { usage }) }];
}

/** True for no usage, and for one whose fields can be looked at. */
function isReadableUsage(usage: unknown): boolean {
  return usage === undefined || isObject(usage);
}

const UNREADABLE: Part = { type: "opaque", name: "unreadable" };

function isOutcome(value: unknown): boolean {
  if (!isObject(value)) return false;
  if (value.status === "pending") return true;
  if (value.status === "failed") return typeof value.error === "string";
  const { status, output, attachments } = value;
  return (
    status === "done" && typeof output === "string" && Array.isArray(attachments) && attachments.every(isPart)
  );
}
