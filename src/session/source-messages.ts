import { deepEqual, isObject } from "../text/json.ts";
import {
  checkTranscript,
  hasMessageFields,
  type Message,
  type MessageId,
  refuseForeign,
  refuseList,
  type Transcript,
  withUniqueIds,
} from "../transcript/message.ts";
import type { CallId, Part, ToolPart } from "../transcript/part.ts";

/** The owner's messages. A method that takes messages gives the index of the first that is new or different, or undefined. */
interface SourceMessages {
  messages(): Transcript;
  find(id: MessageId): Message | undefined;
  append(message: Message): number | undefined;
  observe(transcript: Transcript): number | undefined;
}

/** Ids are unique, and a message that is given again with the same content stays the same object. */
export function createSourceMessages(): SourceMessages {
  let messages: Transcript = [];
  const indexes = new Map<MessageId, number>();
  /** By the id of a call: the message that makes it. */
  const callers = new Map<CallId, MessageId>();
  /** Messages that left the list, so that they can be recalled. */
  const departed = new Map<MessageId, Message>();

  function replaceFrom(index: number, newer: Transcript): void {
    const older = messages.slice(index);
    for (const message of older) {
      indexes.delete(message.id);
      departed.set(message.id, message);
      forgetCalls(message);
    }
    const known = new Map(older.map((message) => [message.id, message]));
    messages = messages.slice(0, index).concat(
      newer.map((message) => {
        const old = known.get(message.id);
        return old !== undefined && deepEqual(old, message) ? old : message;
      }),
    );
    for (const [offset, message] of messages.slice(index).entries()) {
      indexes.set(message.id, index + offset);
      departed.delete(message.id);
      noteCalls(message);
    }
  }

  function noteCalls(message: Message): void {
    for (const callId of callIdsOf(message)) callers.set(callId, message.id);
  }

  function forgetCalls(message: Message): void {
    for (const callId of callIdsOf(message)) if (callers.get(callId) === message.id) callers.delete(callId);
  }

  /** True when a call of the message has an empty id, or one that another call has. */
  function repeatsCall(message: Message, isOther: (caller: MessageId) => boolean): boolean {
    const own = new Set<CallId>([""]);
    return callIdsOf(message).some((callId) => {
      const caller = callers.get(callId);
      const isRepeated = own.has(callId) || (caller !== undefined && isOther(caller));
      own.add(callId);
      return isRepeated;
    });
  }

  /** Looks only at what is new: known ids are unique. */
  function hasRepeatedIds(transcript: Transcript, same: number): boolean {
    const seen = new Set<MessageId>();
    const seenCalls = new Set<CallId>();
    const isBefore = (id: MessageId): boolean => (indexes.get(id) ?? same) < same;
    return transcript.slice(same).some((message) => {
      const { id } = message;
      const callIds = callIdsOf(message);
      if (seen.has(id) || isBefore(id) || repeatsCall(message, isBefore)) return true;
      if (callIds.some((callId) => seenCalls.has(callId))) return true;
      seen.add(id);
      for (const callId of callIds) seenCalls.add(callId);
      return false;
    });
  }

  function replaceAt(index: number, message: Message): void {
    forgetCalls(messages[index] as Message);
    messages = messages.with(index, message);
    noteCalls(message);
  }

  /** Gives results that came without their calls to the calls that wait for them; the message that is left is for `append`. */
  function joinResults(message: Message): { readonly first: number; readonly rest: Message } {
    let first = Number.POSITIVE_INFINITY;
    const parts = message.parts.filter((part) => {
      if (part.type !== "tool" || !part.callMissing) return true;
      const index = indexes.get(callers.get(part.callId) ?? "");
      const caller = index === undefined ? undefined : messages[index];
      const place = caller?.parts.findIndex((call) => isWaiting(call, part.callId)) ?? -1;
      if (index === undefined || caller === undefined || place === -1) return true;
      const call = { ...(caller.parts[place] as ToolPart), outcome: part.outcome };
      replaceAt(index, { ...caller, parts: caller.parts.with(place, call) });
      first = Math.min(first, index);
      return false;
    });
    return { first, rest: parts.length === message.parts.length ? message : { ...message, parts } };
  }

  return {
    messages: () => messages,

    find(id) {
      const index = indexes.get(id);
      return index === undefined ? departed.get(id) : messages[index];
    },

    append(given) {
      refuseList(given);
      const [whole] = sanitizeMessage(given);
      if (whole === undefined) return undefined;
      const { first, rest: readable } = joinResults(whole);
      if (readable.parts.length === 0 && readable !== whole) return first;
      const index = indexes.get(readable.id) ?? messages.length;
      const others = () => messages.filter((_, place) => place !== index);
      const isRepeating = repeatsCall(readable, (caller) => caller !== readable.id);
      const message = (isRepeating && withUniqueIds([...others(), readable]).at(-1)) || readable;
      const before = messages[index];
      if (deepEqual(before, message)) return first < index ? first : undefined;
      if (before === undefined) replaceFrom(index, [message]);
      else replaceAt(index, message);
      return Math.min(first, index);
    },

    observe(transcript) {
      if (!Array.isArray(transcript)) checkTranscript(transcript, "transcript");
      const alike = firstDifference(messages, transcript);
      const given = sanitizeFrom(transcript, alike);
      const isRepeating = hasRepeatedIds(given, alike);
      const newest = isRepeating ? withUniqueIds(given) : given;
      const same = isRepeating ? firstDifference(messages, newest) : alike;
      if (same === messages.length && same === newest.length) return undefined;
      replaceFrom(same, newest.slice(same));
      return same;
    },
  };
}

/** True for the call of that id while it has no result. */
function isWaiting(part: Part, callId: CallId): boolean {
  return (
    part.type === "tool" && part.callId === callId && !part.callMissing && part.outcome.status === "pending"
  );
}

/** The ids of the calls that a message makes; a result without its call is none. */
function callIdsOf({ parts }: Message): readonly CallId[] {
  return parts.flatMap((part) => (part.type === "tool" && !part.callMissing ? [part.callId] : []));
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
      return typeof value.mime === "string";
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
  if (isMessage(given)) return [given];
  if (!hasMessageFields(given)) {
    refuseForeign(given, "message");
    return [];
  }
  const message: Message = given;
  // In its place, so that the parts behind it keep their handles.
  return [{ ...message, parts: message.parts.map((part) => (isPart(part) ? part : UNREADABLE)) }];
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
