import { applyEdits } from "../../transcript/apply-edits.ts";
import { findFaults } from "../../transcript/find-faults.ts";
import type { Format } from "../../transcript/format.ts";
import type { Message } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { isVisibleToModel } from "../../transcript/visibility.ts";
import { compact, type Fields, fields } from "../fields.ts";
import { decodeMessages, infoOf, type Origin } from "./decode-messages.ts";
import { type EncodeContext, encodeCall, encodePart, encodeResult } from "./encode-part.ts";
import {
  messagesOf,
  type OpenCodeWire,
  type SessionMessage,
  type SessionPart,
  withMessages,
} from "./session-message.ts";

/** OpenCode's `{info, parts}` messages: as the server gives them, in the older shape, or in an `opencode export` file. */
export const opencode: OpenCodeFormat = {
  name: "opencode",
  decode: (wire) => decodeMessages(messagesOf(wire)).transcript,
  faults: (wire) => findFaults(opencode.decode(wire)),

  apply(wire, edits, { at }) {
    if (edits.length === 0) return wire;
    const messages = messagesOf(wire);
    const { transcript, origins } = decodeMessages(messages);
    const edited = applyEdits(transcript, edits, { at });
    const editedById = new Map(edited.map((message) => [message.id, message]));
    const indexById = new Map(transcript.map((message, index) => [message.id, index]));
    const after = transcript.map((message) => editedById.get(message.id) ?? message);
    const sessionID = messages.map((message) => infoOf(message).sessionID).find((id) => id !== undefined);

    const result: SessionMessage[] = [];
    for (const message of edited) {
      if (!isVisibleToModel(message)) continue;
      const index = indexById.get(message.id);
      const wireMessage = index === undefined ? undefined : messages[index];
      const rebuilt =
        index === undefined || wireMessage === undefined
          ? encodeMessage(message, { sessionID, at })
          : rebuild({ wireMessage, origins: origins[index] ?? [], before: transcript, after, sessionID, at });
      if (rebuilt !== undefined) result.push(rebuilt);
    }
    return withMessages(wire, result);
  },
};

/** The format keeps the form it was given: a list stays a list, an export an export. */
export interface OpenCodeFormat extends Format<OpenCodeWire> {
  apply<Wire extends OpenCodeWire>(
    wire: Wire,
    edits: Parameters<Format<Wire>["apply"]>[1],
    options: Parameters<Format<Wire>["apply"]>[2],
  ): Wire;
}

interface Rebuild {
  readonly wireMessage: SessionMessage;
  readonly origins: readonly Origin[];
  readonly before: readonly Message[];
  readonly after: readonly Message[];
  readonly sessionID: unknown;
  readonly at: number;
}

/** The wire message with its edited parts; the same reference if none was, undefined if all of them left. */
function rebuild({
  wireMessage,
  origins,
  before,
  after,
  sessionID,
  at,
}: Rebuild): SessionMessage | undefined {
  const wireParts = origins.length === 0 ? [] : wireMessage.parts;
  const messageID = String(infoOf(wireMessage).id ?? "");
  const parts: SessionPart[] = [];
  let changed = false;
  for (const [wireIndex, { messageIndex, partIndex, half }] of origins.entries()) {
    const wirePart = wireParts[wireIndex] as SessionPart;
    const owner = after[messageIndex];
    const old = before[messageIndex]?.parts[partIndex];
    const now = owner?.parts[partIndex];
    const isGone = owner === undefined || !isVisibleToModel(owner) || now?.agentVisible === false;
    if (isGone || now === undefined) {
      changed = true;
    } else if (now === old) {
      parts.push(wirePart);
    } else {
      changed = true;
      const encoded = encodeHalf({
        half,
        now,
        old,
        wire: fields(wirePart),
        context: { sessionID, messageID, partIndex, at },
      });
      if (encoded !== undefined) parts.push(encoded as SessionPart);
    }
  }
  if (!changed) return wireMessage;
  return parts.length === 0 ? undefined : { ...wireMessage, parts };
}

interface Half {
  readonly half: Origin["half"];
  readonly now: Part;
  readonly old: Part | undefined;
  readonly wire: Fields;
  readonly context: EncodeContext;
}

/** One wire part of an edited part. Where a call and its result are two wire parts and the edit made it something else, the result leaves. */
function encodeHalf({ half, now, old, wire, context }: Half): Fields | undefined {
  if (half === "whole" || now.type !== "tool" || old?.type !== "tool") {
    return half === "result" ? undefined : encodePart(now, old, wire, context);
  }
  return half === "call" ? encodeCall(now, old, wire, context) : encodeResult(now, wire);
}

/** A wire message for one that an edit inserted. */
function encodeMessage(
  message: Message,
  { sessionID, at }: { sessionID: unknown; at: number },
): SessionMessage {
  const info: Fields = compact({
    id: message.id,
    sessionID,
    role: message.role,
    time: { created: message.createdAt ?? at },
    summary: message.summary,
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
