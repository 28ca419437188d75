import { textOrJson } from "../../../text/json.ts";
import type { Cut } from "../../../text/truncate.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asTrue,
  isObject,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { withArchivedKind } from "../../../transcript/content.ts";
import {
  createIdDeduplicator,
  type Message,
  type MessageError,
  type MessageId,
  type ModelRef,
  type Transcript,
  type Usage,
} from "../../../transcript/message.ts";
import type { CallId, FilePart, InputCut, Part, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import { reasoningPart, sealedForm } from "../../blocks/sealed-thoughts.ts";
import { hasThoughtSignature } from "../../blocks/thought-signature.ts";
import { createMarkingNamer, createOpenCalls } from "../../content/call-ids.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { readMetadata } from "../../content/metadata.ts";

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
  const nameId = createIdDeduplicator();
  const calls = createOpenCalls<OpenCall>();
  const nameCall = createMarkingNamer();
  const allParts: Part[][] = [];
  const origins: Origin[][] = [];

  wire.forEach((wireMessage, messageIndex) => {
    const parts: Part[] = [];
    allParts.push(parts);
    const unanswered: OpenCall[] = [];
    const shownOnly: { readonly origin: OpenOrigin; readonly part: Part }[] = [];
    origins.push(
      partsOf(wireMessage).map((wirePart) => {
        const here: OpenOrigin = { messageIndex, partIndex: parts.length, half: "whole" };
        if (isShownOnly(wirePart)) {
          shownOnly.push({ origin: here, part: { ...opaquePart(wirePart.type), bookkeeping: true } });
          return here;
        }
        if (wirePart.type !== "tool_result") {
          const read = decodePart(wirePart);
          const part = nameCall(read);
          parts.push(part);
          if (read.type === "tool" && part.type === "tool" && part.outcome.status === "pending") {
            const call = { origin: here, part, parts, isAnswered: false };
            unanswered.push(call);
            calls.add(read.callId, messageIndex, call);
          }
          return here;
        }
        const callId = callIdOf(wirePart);
        const call = nextUnanswered(callId ? () => calls.take(callId) : () => unanswered.shift());
        if (call === undefined) {
          parts.push(orphan(wirePart, callId));
          return here;
        }
        call.isAnswered = true;
        call.origin.half = "call";
        call.parts[call.origin.partIndex] = { ...call.part, outcome: decodeResult(wirePart) };
        return { ...call.origin, half: "result" };
      }),
    );
    // Behind the others, whose handles are made from requests, where these are not.
    for (const { origin, part } of shownOnly) origin.partIndex = parts.push(part) - 1;
  });

  const transcript: Message[] = [];
  const wireIndexes: number[] = [];
  for (const [index, wireMessage] of wire.entries()) {
    const info = infoOf(wireMessage);
    const id = nameId(asString(info.id) ?? `message-${index + 1}`);
    if (isResultsOnly(origins[index] ?? [])) continue;
    transcript.push(withArchivedKind(decodeInfo(info, id, allParts[index] ?? [])));
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
  readonly part: ToolPart;
  /** The parts of its message. */
  readonly parts: Part[];
  isAnswered: boolean;
}

/** Where a part came from, until all parts are read: a later one may turn out to be its other half. */
type OpenOrigin = { -readonly [Field in keyof Origin]: Origin[Field] };

function orphan(wirePart: UnknownObject, callId: CallId | undefined): ToolPart {
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

/** A result may have named its call, or stand behind it without a name: a call that was found in one way is gone in the other. */
function nextUnanswered(take: () => OpenCall | undefined): OpenCall | undefined {
  let call = take();
  while (call?.isAnswered) call = take();
  return call;
}

/** The `info` of a message; a message without one is its own. */
export function infoOf(wireMessage: SessionMessage): UnknownObject {
  const message = asObject(wireMessage);
  return typeof message.info === "object" && message.info !== null ? asObject(message.info) : message;
}

/** The parts of a message, however broken it is. */
function partsOf(wireMessage: SessionMessage): readonly UnknownObject[] {
  return asArray(asObject(wireMessage).parts).map(asObject);
}

/** The canonical message of an `info` object and its decoded parts. */
function decodeInfo(info: UnknownObject, id: MessageId, parts: readonly Part[]): Message {
  const role = asString(info.role) ?? "unknown";
  const isAssistant = role === "assistant";
  return omitUndefined({
    id,
    role,
    parts,
    createdAt: asNumber(asObject(info.time).created),
    summary: isAssistant ? asTrue(info.summary) : undefined,
    agent: isAssistant && info.summary === true ? asString(info.agent) : undefined,
    finish: asString(info.finish),
    // Token counts are there from the start of a message, `finish` from its end; the older shape has neither.
    unfinished: asTrue(isAssistant && info.finish === undefined && info.tokens !== undefined),
    error: decodeError(info.error),
    parentId: asString(info.parentID),
    usage: isObject(info.tokens) ? readTokens(info.tokens) : undefined,
    model: decodeModel(info),
    metadata: readMetadata(asObject(info.metadata).carryover),
  });
}

function decodeError(error: unknown): MessageError | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, data, message } = asObject(error);
  return {
    name: asString(name) ?? "Error",
    text: asString(asObject(data).message) ?? asString(message) ?? "",
  };
}

/** Token counts as both versions of OpenCode write them: those of the cache in an object of their own. */
export function readTokens(tokens: unknown): Usage {
  const { input, output, reasoning, total, cache } = asObject(tokens);
  const { read, write } = asObject(cache);
  const count = (value: unknown): number => asNumber(value) ?? 0;
  return omitUndefined({
    inputTokens: count(input),
    outputTokens: count(output),
    reasoningTokens: count(reasoning),
    cacheReadTokens: count(read),
    cacheWriteTokens: count(write),
    totalTokens: asNumber(total),
  });
}

function decodeModel(info: UnknownObject): ModelRef | undefined {
  const model = asObject(info.model);
  const provider = asString(info.providerID) ?? asString(model.providerID);
  const id = asString(info.modelID) ?? asString(model.modelID);
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

/** The canonical part of a wire part; one that is not understood becomes opaque. */
function decodePart(wire: UnknownObject): Part {
  switch (wire.type) {
    case "text":
      return typeof wire.text === "string" ? decodeText(wire, wire.text) : opaquePart(wire.type);
    case "reasoning":
      return typeof wire.text === "string"
        ? reasoningPart(wire.text, sealedForm(wire.metadata))
        : opaquePart(wire.type);
    case "tool":
    case "tool_use":
    case "tool_call":
      return decodeTool(wire);
    case "file":
      return decodeFile(wire);
    case "compaction":
      return omitUndefined({
        type: "compaction" as const,
        trigger: wire.auto === true ? ("auto" as const) : ("manual" as const),
        overflow: asTrue(wire.overflow),
        tailStartId: asString(wire.tail_start_id),
      });
    default: {
      const part = opaquePart(wire.type);
      return BOOKKEEPING.has(part.name) ? { ...part, bookkeeping: true } : part;
    }
  }
}

/** Messages without what our plugin shows to people alone: as they stand in requests, so that handles name the same parts. */
export function withoutShown(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  return messages.map((message) => {
    const parts: unknown = message?.parts;
    if (!Array.isArray(parts)) return message;
    const sent = parts.filter((part) => !isShownOnly(asObject(part)));
    return sent.length === parts.length ? message : { ...message, parts: sent };
  });
}

function isShownOnly({ metadata }: UnknownObject): boolean {
  return asObject(asObject(metadata).carryover).shown !== undefined;
}

/** What the host notes about a step beside what the model said and did. */
const BOOKKEEPING: ReadonlySet<string> = new Set(["step-start", "step-finish", "snapshot", "patch", "retry"]);

/** The outcome in a separate result part of the older shape. */
function decodeResult(wire: UnknownObject): ToolOutcome {
  const text = textOrJson(wire.text ?? wire.output ?? wire.content);
  return wire.isError === true
    ? { status: "failed", error: text }
    : { status: "done", output: text, attachments: [] };
}

/** The tool name of a call or a result, wherever the shape keeps it. */
function toolName(wire: UnknownObject): string | undefined {
  return asString(wire.tool) ?? asString(wire.name) ?? asString(wire.toolName);
}

/** The id that joins a call and its result. */
export function callIdOf(wire: UnknownObject): string | undefined {
  const field = CALL_ID_FIELDS.find((name) => typeof wire[name] === "string");
  return field === undefined ? undefined : asString(wire[field]);
}

/** Where the shapes of the wire have that id. */
export const CALL_ID_FIELDS: readonly string[] = ["callID", "toolCallId", "tool_use_id"];

/** The id of a call: its own, or where it has none that of its part. */
export function wireCallId(wire: UnknownObject): CallId {
  return callIdOf(wire) ?? asString(wire.id) ?? "";
}

function decodeText(wire: UnknownObject, text: string): Part {
  const { carryover } = asObject(wire.metadata);
  return omitUndefined({
    type: "text" as const,
    text,
    synthetic: asTrue(wire.synthetic),
    ignored: asTrue(wire.ignored),
    own: asTrue(carryover),
    ...decodeNote(wire.metadata),
  });
}

function decodeTool(wire: UnknownObject): ToolPart {
  const state = asObject(wire.state);
  const outcome = decodeState(state);
  return omitUndefined({
    type: "tool" as const,
    callId: wireCallId(wire),
    tool: toolName(wire) ?? "unknown",
    input: state.input ?? wire.input ?? wire.args,
    outcome,
    signed: hasThoughtSignature(wire.metadata) ? (true as const) : undefined,
    // The host sends errors whole, whatever the mark says.
    clearedAt: outcome.status === "failed" ? undefined : decodeTimestamp(asObject(state.time).compacted),
    ...decodeNote(state.metadata),
  }) as ToolPart;
}

/** What an earlier edit of ours left out of a part, as noted in its metadata. */
function decodeNote(metadata: unknown): { readonly cut?: Cut; readonly inputCut?: InputCut } {
  const { cut, inputCut } = asObject(asObject(metadata).carryover);
  return omitUndefined({ cut: cut as Cut | undefined, inputCut: inputCut as InputCut | undefined });
}

function decodeState(state: UnknownObject): ToolOutcome {
  const { interrupted, output: partial } = asObject(state.metadata);
  // The host stores a stopped call as an error, and sends what it had printed until then as its output.
  if (state.status === "error" && interrupted === true && typeof partial === "string") {
    return { status: "done", output: partial, attachments: [] };
  }
  if (state.status === "error") return { status: "failed", error: textOrJson(state.error) };
  if (state.status === "completed" || (state.status === undefined && state.output !== undefined)) {
    const attachments = asArray(state.attachments).map(decodeFile);
    return { status: "done", output: textOrJson(state.output), attachments };
  }
  return { status: "pending" };
}

function decodeFile(value: unknown): FilePart {
  const { mime, filename, url } = asObject(value);
  return filePart({ mime: asString(mime), filename: asString(filename), url: asString(url) });
}

/** A cleared mark is a number; a string is tolerated, and anything else that is set still means cleared. */
function decodeTimestamp(value: unknown): number | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  const time = typeof value === "string" ? Number(value) || Date.parse(value) : Number(value);
  return Number.isFinite(time) ? time : 0;
}

/** A message as OpenCode stores and exports it. Fields that are not listed are kept as they are. */
export interface SessionMessage {
  readonly info: SessionMessageInfo;
  readonly parts: readonly SessionPart[];
}

export interface SessionMessageInfo {
  readonly id?: string;
  readonly role: string;
  readonly sessionID?: string;
  readonly parentID?: string;
  /** On an assistant message `true` marks a compaction summary; on a user message it is an object about diffs. */
  readonly summary?: unknown;
  readonly finish?: string;
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

/** A part of such a message; `type` says which fields it has. */
export interface SessionPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What `opencode export` writes. */
export interface SessionExport {
  readonly info: { readonly id?: string; readonly [field: string]: unknown };
  readonly messages: readonly SessionMessage[];
}

/** What the OpenCode format reads: a list of messages, or a whole export. */
export type OpenCodeWire = readonly SessionMessage[] | SessionExport;
