import type { Message, Transcript } from "../../transcript/message.ts";
import type { CallId, Part, ToolPart } from "../../transcript/part.ts";
import { createIdNamer } from "../../transcript/unique-ids.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { decodeInfo } from "./decode-info.ts";
import { callIdOf, decodeNote, decodePart, decodeResult, toolName } from "./decode-part.ts";
import type { SessionMessage } from "./session-message.ts";

/** A transcript, and for each wire part the canonical part that it became (or half of which it is). */
export interface Decoded {
  readonly transcript: Transcript;
  /** The wire message of each message. One that holds nothing but results of earlier calls is no message of its own. */
  readonly wireIndexes: readonly number[];
  /** `origins[wire message][wire part]`; the message index in it is the wire's. */
  readonly origins: readonly (readonly Origin[])[];
}

export interface Origin {
  readonly messageIndex: number;
  readonly partIndex: number;
  readonly half: "whole" | "call" | "result";
}

/** Reads messages of the live shape and of the older one, where a result is a part of its own behind its call. */
export function decodeMessages(wire: readonly SessionMessage[]): Decoded {
  const nameId = createIdNamer();
  const calls = new Map<CallId, OpenCall>();
  const allParts: Part[][] = [];
  const origins: Origin[][] = [];

  wire.forEach((wireMessage, messageIndex) => {
    const parts: Part[] = [];
    allParts.push(parts);
    let lastCall: OpenCall | undefined;
    origins.push(
      partsOf(wireMessage).map((wirePart) => {
        const here: OpenOrigin = { messageIndex, partIndex: parts.length, half: "whole" };
        if (wirePart.type !== "tool_result") {
          const part = withCallId(decodePart(wirePart), here);
          parts.push(part);
          if (part.type === "tool" && part.outcome.status === "pending") {
            lastCall = { origin: here, isAnswered: false };
            calls.set(part.callId, lastCall);
          }
          return here;
        }
        const callId = callIdOf(wirePart);
        const call = callId === undefined ? lastCall : calls.get(callId);
        if (call === undefined || call.isAnswered) {
          parts.push(withCallId(orphan(wirePart, callId), here));
          return here;
        }
        call.isAnswered = true;
        call.origin.half = "call";
        answer(allParts, call.origin, wirePart);
        return { ...call.origin, half: "result" };
      }),
    );
  });

  const transcript: Message[] = [];
  const wireIndexes: number[] = [];
  for (const [index, wireMessage] of wire.entries()) {
    const info = infoOf(wireMessage);
    const id = nameId(stringField(info.id) ?? `message-${index + 1}`);
    if (isResultsOnly(origins[index] ?? [])) continue;
    transcript.push(decodeInfo(info, id, allParts[index] ?? []));
    wireIndexes.push(index);
  }
  return { transcript, wireIndexes, origins };
}

/** True for a wire message that holds nothing but results of calls in other messages. */
export function isResultsOnly(origins: readonly Origin[]): boolean {
  return origins.length > 0 && origins.every((origin) => origin.half === "result");
}

interface OpenCall {
  readonly origin: OpenOrigin;
  isAnswered: boolean;
}

/** Where a part came from, until all parts are read: a later one may turn out to be its other half. */
type OpenOrigin = { -readonly [Field in keyof Origin]: Origin[Field] };

function answer(allParts: readonly Part[][], { messageIndex, partIndex }: Origin, wirePart: Fields): void {
  const parts = allParts[messageIndex];
  const call = parts?.[partIndex];
  if (parts === undefined || call?.type !== "tool") return;
  parts[partIndex] = { ...call, outcome: decodeResult(wirePart) };
}

function orphan(wirePart: Fields, callId: CallId | undefined): ToolPart {
  return {
    type: "tool",
    callId: callId ?? "",
    tool: toolName(wirePart) ?? "unknown",
    input: undefined,
    outcome: decodeResult(wirePart),
    callMissing: true,
    ...decodeNote(wirePart.metadata),
  };
}

/** A call that came without an id gets one from its place, so that calls can be told apart. */
function withCallId<P extends Part>(part: P, { messageIndex, partIndex }: Origin): P {
  if (part.type !== "tool" || part.callId !== "") return part;
  return { ...part, callId: `call-${messageIndex + 1}-${partIndex + 1}` };
}

/** The `info` of a message; a message without one is its own. */
export function infoOf(wireMessage: SessionMessage): Fields {
  const message = fields(wireMessage);
  return typeof message.info === "object" && message.info !== null ? fields(message.info) : message;
}

/** The parts of a message, however broken it is. */
export function partsOf(wireMessage: SessionMessage): readonly Fields[] {
  const { parts } = fields(wireMessage);
  return Array.isArray(parts) ? parts.map(fields) : [];
}
