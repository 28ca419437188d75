import { groupBy } from "../../../text/group-by.ts";
import { asObject, asString, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { applyEdits } from "../../../transcript/edit.ts";
import { findFaults, findRenamedCalls } from "../../../transcript/format.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  reachesModel,
  type Transcript,
} from "../../../transcript/message.ts";
import type { Part, ToolOutcome } from "../../../transcript/part.ts";
import type { BlockFormat } from "../../blocks/create-block-format.ts";
import {
  CALL_ID_FIELDS,
  callIdOf,
  type Decoded,
  decodeMessages,
  infoOf,
  isResultsOnly,
  type OpenCodeWire,
  type Origin,
  type SessionExport,
  type SessionMessage,
  type SessionPart,
  wireCallId,
} from "./decode-messages.ts";

import { type EncodeContext, encodeCall, encodeOrphan, encodePart, encodeResult } from "./encode-part.ts";

/** OpenCode's `{info, parts}` messages: as the server gives them, in the older shape, or in an `opencode export` file. */
export const opencode: OpenCodeFormat = {
  name: "opencode",
  decode: (wire) => decodeMessages(messagesOf(wire)).transcript,
  faults(wire) {
    const transcript = opencode.decode(wire);
    return [...findFaults(transcript), ...findRenamedCalls(transcript)];
  },

  apply(wire, edits, options) {
    if (edits.length === 0) return wire;
    const messages = messagesOf(wire);
    const decoded = decodeMessages(messages);
    const edited = applyEdits(decoded.transcript, edits, options);
    return withMessages(wire, encodeMessages(messages, decoded, edited, options.at));
  },
};

/** The format keeps the form it was given: a list stays a list, an export an export. */
export type OpenCodeFormat = BlockFormat<OpenCodeWire>;

/** The wire messages of an edited transcript: untouched ones are the same references, hidden ones are left out. */
function encodeMessages(
  messages: readonly SessionMessage[],
  { transcript, wireIndexes, origins }: Decoded,
  edited: Transcript,
  at: number,
): readonly SessionMessage[] {
  const editedById = new Map(edited.map((message) => [message.id, message]));
  const wireIndexById = new Map<MessageId, number>();
  const pairs = new Map<number, EditedMessage>();
  for (const [index, before] of transcript.entries()) {
    const wireIndex = wireIndexes[index] ?? index;
    wireIndexById.set(before.id, wireIndex);
    pairs.set(wireIndex, { before, after: editedById.get(before.id) ?? before });
  }
  const sessionID = messages.map((message) => infoOf(message).sessionID).find((id) => id !== undefined);
  const order = edited.map((message) => wireIndexById.get(message.id) ?? -1);
  const rebuild: Rebuild = { messages, origins, pairs, late: lateResults(origins, order), sessionID, at };
  const carriers = resultCarriers(origins);
  return edited.flatMap((message) => {
    const wireIndex = wireIndexById.get(message.id);
    if (wireIndex === undefined)
      return isVisibleToModel(message) ? [encodeMessage(message, { sessionID, at })] : [];
    return [wireIndex, ...(carriers.get(wireIndex) ?? [])].flatMap(
      (index) => rebuildMessage(rebuild, index) ?? [],
    );
  });
}

interface EditedMessage {
  readonly before: Message;
  readonly after: Message;
}

/** The wire messages that hold only results, by the wire message of their first call: where that goes, they go. */
function resultCarriers(origins: Decoded["origins"]): ReadonlyMap<number, readonly number[]> {
  const carriers = [...origins.keys()].filter((index) => isResultsOnly(origins[index] ?? []));
  return groupBy(carriers, (index) => origins[index]?.[0]?.messageIndex ?? -1);
}

/** Calls that were moved behind their results, as `message/part`: only in front of its result can a call be found again. */
function lateResults(origins: Decoded["origins"], order: readonly number[]): ReadonlySet<string> {
  const position = new Map(order.map((wireIndex, index) => [wireIndex, index]));
  const late = new Set<string>();
  for (const [wireIndex, ofMessage] of origins.entries()) {
    const holder = position.get(wireIndex) ?? position.get(ofMessage[0]?.messageIndex ?? -1) ?? 0;
    for (const origin of ofMessage) {
      const isBefore = origin.half === "result" && holder < (position.get(origin.messageIndex) ?? 0);
      if (isBefore) late.add(keyOf(origin));
    }
  }
  return late;
}

function keyOf({ messageIndex, partIndex }: Origin): string {
  return `${messageIndex}/${partIndex}`;
}

interface Rebuild {
  readonly messages: readonly SessionMessage[];
  readonly origins: Decoded["origins"];
  readonly pairs: ReadonlyMap<number, EditedMessage>;
  readonly late: ReadonlySet<string>;
  readonly sessionID: unknown;
  readonly at: number;
}

/** The wire message with its edited parts; the same reference if none was, undefined if nothing is left of it. */
function rebuildMessage(
  { messages, origins, pairs, late, sessionID, at }: Rebuild,
  wireIndex: number,
): SessionMessage | undefined {
  const wireMessage = messages[wireIndex] as SessionMessage;
  const own = pairs.get(wireIndex)?.after;
  const isHidden = own !== undefined && !isVisibleToModel(own);
  const messageID = asString(infoOf(wireMessage).id) ?? "";
  const parts: SessionPart[] = [];
  let isChanged = isHidden;
  let isAnyShown = false;
  for (const [index, origin] of (origins[wireIndex] ?? []).entries()) {
    const { messageIndex, partIndex } = origin;
    const wire = wireMessage.parts[index] as SessionPart;
    const isLate = late.has(keyOf(origin));
    if (isLate && origin.half === "result") {
      isChanged = true;
      continue;
    }
    // A call that comes behind its result now carries the outcome itself.
    const half = isLate ? "whole" : origin.half;
    const owner = pairs.get(messageIndex);
    const before = owner?.before.parts[partIndex];
    const old = isLate && before?.type === "tool" ? { ...before, outcome: PENDING } : before;
    const now =
      owner === undefined || !isVisibleToModel(owner.after) ? undefined : owner.after.parts[partIndex];
    const isShown = now !== undefined && now.agentVisible !== false;
    if (isShown && now === old && withCallId(asObject(wire), now, half) === wire) {
      parts.push(wire);
    } else {
      isChanged = true;
      const context = { sessionID, messageID, partIndex, at };
      const encoded = isShown ? encodeHalf({ half, now, old, wire: asObject(wire), context }) : undefined;
      if (encoded !== undefined) parts.push(withCallId(encoded, now, half) as SessionPart);
    }
    if (isShown && reachesModel(now)) isAnyShown = true;
  }
  if (!isChanged) return wireMessage;
  return isAnyShown ? { ...wireMessage, parts } : undefined;
}

/** Calls that share an id are told apart by what is written: otherwise an edit could give one's result to another. */
function withCallId(wire: UnknownObject, part: Part | undefined, half: Origin["half"]): UnknownObject {
  if (part?.type !== "tool" || part.callMissing) return wire;
  // A result without a name is found by its place.
  const id = half === "result" ? (callIdOf(wire) ?? part.callId) : wireCallId(wire);
  if (id === part.callId) return wire;
  const field = CALL_ID_FIELDS.find((name) => typeof wire[name] === "string") ?? "callID";
  return { ...wire, [field]: part.callId };
}

const PENDING: ToolOutcome = { status: "pending" };

interface Half {
  readonly half: Origin["half"];
  readonly now: Part;
  readonly old: Part | undefined;
  readonly wire: UnknownObject;
  readonly context: EncodeContext;
}

/** One wire part of an edited part. Where a call and its result are two wire parts and the edit made it something else, the result leaves. */
function encodeHalf({ half, now, old, wire, context }: Half): UnknownObject | undefined {
  if (now.type === "tool" && old?.type === "tool") {
    if (old.callMissing) return encodeOrphan(now, wire);
    if (half === "result") return encodeResult(now, wire);
    if (half === "call") return encodeCall(now, old, wire, context);
  }
  return half === "result" ? undefined : encodePart(now, old, wire, context);
}

/** A wire message for one that an edit inserted. */
function encodeMessage(
  message: Message,
  { sessionID, at }: { sessionID: unknown; at: number },
): SessionMessage {
  const info: UnknownObject = omitUndefined({
    id: message.id,
    sessionID,
    role: message.role,
    time: { created: message.createdAt ?? at },
    summary: message.summary,
    // OpenCode's own summaries are written by an agent of this name.
    ...(message.summary && { mode: "compaction", agent: message.agent ?? "compaction" }),
    finish: message.finish,
    parentID: message.parentId,
    providerID: message.model?.provider,
    modelID: message.model?.id,
    metadata: message.metadata && { carryover: message.metadata },
  });
  return {
    info: info as SessionMessage["info"],
    parts: message.parts.map((part, partIndex) => {
      const context = { sessionID, messageID: message.id, partIndex, at };
      return encodePart(part, undefined, {}, context) as SessionPart;
    }),
  };
}

/** The messages of either form. */
export function messagesOf(wire: OpenCodeWire): readonly SessionMessage[] {
  const messages = isExport(wire) ? wire.messages : wire;
  return Array.isArray(messages) ? messages : [];
}

/** The same form with other messages in it. */
export function withMessages<Wire extends OpenCodeWire>(
  wire: Wire,
  messages: readonly SessionMessage[],
): Wire {
  return (isExport(wire) ? { ...wire, messages } : messages) as Wire;
}

function isExport(wire: OpenCodeWire): wire is SessionExport {
  return !Array.isArray(wire) && typeof wire === "object" && wire !== null;
}
