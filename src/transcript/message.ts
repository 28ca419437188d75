import type { ModelRef } from "../models/model-ref.ts";
import { objectOf, type Rule, required, text } from "../text/check.ts";
import { normalizeText, normalizeTypedText } from "../text/normalize.ts";
import type { CarriedFacts } from "./carried-facts.ts";
import {
  type CallId,
  CLEARED_PLACEHOLDER,
  type CompactionPart,
  type MessageId,
  type Part,
  type TextPart,
  type ToolOutcome,
  type ToolPart,
} from "./part.ts";

export type { MessageId } from "./part.ts";

/**
 * One message of a conversation, whatever program recorded it. This is the model that all rooms share: a transcript is a
 * list of messages, a message a list of parts (`part.ts`), and a tool call and its outcome are one part. Transcripts are
 * changed by edits alone (`edit.ts`): what is hidden from the model stays in them, marked.
 */
export interface Message {
  readonly id: MessageId;
  readonly role: Role;
  readonly parts: readonly Part[];
  /** Milliseconds since 1970, where the source knows it. */
  readonly createdAt?: number;
  /** True only on an assistant message that sums up everything before its compaction marker. */
  readonly summary?: true;
  /** On a summary: the agent that wrote it, `compaction` where it is ours. */
  readonly agent?: string;
  /** Why generation ended, as the source says it. */
  readonly finish?: string;
  /**
   * Set when the source records how generation ended, but not for this message: it is still running or was
   * interrupted.
   */
  readonly unfinished?: true;
  readonly error?: MessageError;
  readonly parentId?: MessageId;
  readonly usage?: Usage;
  readonly model?: ModelRef;
  readonly metadata?: MessageMetadata;
}

/** A role we do not know is kept as it is and shown capitalised. */
export type Role = "user" | "assistant" | "system" | (string & {});

export interface MessageError {
  readonly name: string;
  readonly text: string;
}

/** Tokens as the provider counted them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly totalTokens?: number;
}

export type { ModelRef } from "../models/model-ref.ts";

/** What an option that names a model may be. */
export const MODEL_RULE: Rule = objectOf({ provider: required(text), id: required(text) });

/** Who may see a message, and what it is for. Unset means visible. */
export interface MessageMetadata {
  readonly agentVisible?: boolean;
  readonly userVisible?: boolean;
  readonly kind?: MessageKind;
  /** Facts of a summary that the next compaction keeps. Never parsed from text. */
  readonly carried?: CarriedFacts;
}

export type MessageKind =
  | "user"
  | "assistant"
  | "tool_result"
  | "tool_result_archived"
  | "tool_summary"
  | "compaction_summary"
  | "compaction_marker"
  | "continue"
  | "hint"
  | (string & {});

/** A conversation, oldest message first. Message ids are unique. */
export type Transcript = readonly Message[];

/** True unless the message was hidden from the model. */
export function isVisibleToModel(message: Message): boolean {
  return message.metadata?.agentVisible !== false;
}

/** True unless the message was hidden from the user. */
export function isVisibleToUser(message: Message): boolean {
  return message.metadata?.userVisible !== false;
}

/** A copy of the message with changed metadata. */
export function withMetadata(message: Message, change: MessageMetadata): Message {
  return { ...message, metadata: { ...message.metadata, ...change } };
}

/** What the model sees of a transcript: hidden messages and parts are left out, cleared outputs are placeholders. The same reference when nothing changes. */
export function project(transcript: Transcript): Transcript {
  let changed = false;
  const visible: Message[] = [];
  for (const message of transcript) {
    const shown = isVisibleToModel(message) ? projectParts(message) : undefined;
    if (shown !== message) changed = true;
    if (shown !== undefined) visible.push(shown);
  }
  return changed ? visible : transcript;
}

/** True for parts that may be sent to the model; opaque parts count as sent. */
export function reachesModel(part: Part): boolean {
  return part.agentVisible !== false && !(part.type === "text" && part.ignored);
}

/** True for a message that starts with a provider's own compaction, which replaces everything before it. */
export function opensWithProviderBlock({ parts }: Message): boolean {
  return parts.find(reachesModel)?.providerBlock !== undefined;
}

/** True for what the model answered; a summary is not an answer. */
export function isAnswer({ role, summary }: Message): boolean {
  return role === "assistant" && summary !== true;
}

/** The text parts of a message that reach the model, one below the other; calls, reasoning and files are left out. */
export function messageText({ parts }: Message): string {
  return parts.flatMap((part) => (part.type === "text" && reachesModel(part) ? [part.text] : [])).join("\n");
}

/** The message without its hidden parts, or undefined when hiding left nothing for the model. */
function projectParts(message: Message): Message | undefined {
  if (!message.parts.some(needsProjection)) return message;
  const parts = message.parts.filter((part) => part.agentVisible !== false).map(showCleared);
  return parts.some(reachesModel) ? { ...message, parts } : undefined;
}

function needsProjection(part: Part): boolean {
  return part.agentVisible === false || (part.type === "tool" && part.clearedAt !== undefined);
}

function showCleared(part: Part): Part {
  if (part.type !== "tool" || part.clearedAt === undefined) return part;
  const { clearedAt: _, ...shown } = part;
  return { ...shown, outcome: shownOutcome(part) };
}

/** The outcome as the model sees it: a cleared one is its placeholder, without attachments. */
export function shownOutcome({ outcome, clearedAt }: ToolPart): ToolOutcome {
  if (clearedAt === undefined) return outcome;
  const shown = withText(outcome, CLEARED_PLACEHOLDER);
  return shown.status === "done" ? { ...shown, attachments: [] } : shown;
}

/** The text of a part, normalized for sending; what the user typed is changed as little as possible. */
export function normalizePartText(message: Message, part: TextPart): string {
  const isTyped = message.role === "user" && !part.synthetic;
  return isTyped ? normalizeTypedText(part.text) : normalizeText(part.text);
}

/** The transcript with unique ids of messages and calls: repeated ones get a number. The same reference when none is repeated. */
export function withUniqueIds(transcript: Transcript): Transcript {
  const name = createIdDeduplicator();
  const nameCall = createCallNamer();
  let changed = false;
  const messages = transcript.map((message) => {
    const id = name(message.id);
    const named = withCallNames(message, nameCall);
    if (id === named.id && named === message) return message;
    changed = true;
    return { ...named, id };
  });
  return changed ? messages : transcript;
}

/** Makes ids unique: the first keeps its name, further ones become `id~2`, `id~3`, … */
export function createIdDeduplicator(messages: Transcript = []): (wanted: MessageId) => MessageId {
  const taken = new Set(messages.map((message) => message.id));
  const lastNumber = new Map<MessageId, number>();
  return (wanted) => {
    let id = wanted;
    while (taken.has(id)) {
      const number = (lastNumber.get(wanted) ?? 1) + 1;
      lastNumber.set(wanted, number);
      id = `${wanted}~${number}`;
    }
    taken.add(id);
    return id;
  };
}

/** Makes call ids unique: `id`, then `id_2`, `id_3`, …; an empty id becomes `call_1`, `call_2`, … */
export type NameCall = (callId: CallId) => CallId;

/**
 * A name depends only on earlier calls, so names stay as the conversation grows. The id is shortened to leave room
 * for the number within the provider's limit.
 */
export function createCallNamer(maxChars: number = MAX_CALL_ID_CHARS): NameCall {
  const taken = new Set<CallId>();
  const lastNumber = new Map<string, number>();
  return (callId) => {
    let name = callId;
    while (name === "" || taken.has(name)) {
      const base = numberedBase(callId, maxChars);
      const number = (lastNumber.get(base) ?? (callId === "" ? 0 : 1)) + 1;
      lastNumber.set(base, number);
      name = `${base}_${number}`;
    }
    taken.add(name);
    return name;
  };
}

/** True for the id of a call, and for the names that further calls with this id get. */
export function isNameOfCall(name: CallId, callId: CallId): boolean {
  const base = numberedBase(callId);
  return name === callId || (name.startsWith(`${base}_`) && /^\d+$/.test(name.slice(base.length + 1)));
}

function numberedBase(callId: CallId, maxChars = MAX_CALL_ID_CHARS): string {
  return callId === "" ? "call" : callId.slice(0, maxChars - NUMBER_CHARS);
}

/** The limit of most providers. */
const MAX_CALL_ID_CHARS = 64;
const NUMBER_CHARS = 8;

/** The message with the names of its calls; the same reference when they have them already. */
export function withCallNames(message: Message, nameCall: NameCall): Message {
  let changed = false;
  const parts = message.parts.map((part) => {
    if (part.type !== "tool" || part.callMissing) return part;
    const callId = nameCall(part.callId);
    if (callId === part.callId) return part;
    changed = true;
    return { ...part, callId };
  });
  return changed ? { ...message, parts } : message;
}

/** The length of the common prefix of two lists. */
export function commonLength<Item>(one: readonly Item[], other: readonly Item[]): number {
  const end = Math.min(one.length, other.length);
  let index = 0;
  while (index < end && one[index] === other[index]) index++;
  return index;
}

/** True for the summary of a compaction, known by its flag or its kind, never by its text. */
export function isSummary({ summary, metadata }: Message): boolean {
  return summary === true || metadata?.kind === "compaction_summary";
}

/** What the user typed in a message, word for word; empty for whatever a program wrote in the user's name. */
export function typedText(message: Message): string {
  if (message.role !== "user" || isSummary(message) || isBareMarker(message)) return "";
  if (PROGRAM_KINDS.has(message.metadata?.kind ?? "")) return "";
  return message.parts
    .flatMap((part) =>
      part.type === "text" && reachesModel(part) && !part.synthetic && !part.own ? [part.text] : [],
    )
    .filter((text) => text.trim() !== "")
    .join("\n");
}

const PROGRAM_KINDS: ReadonlySet<string> = new Set(
  "tool_result tool_result_archived tool_summary compaction_marker continue hint".split(" "),
);

/** True for a user message that is only a request for a compaction. */
export function isBareMarker(message: Message): boolean {
  return (
    message.role === "user" &&
    compactionPart(message) !== undefined &&
    message.parts.every((part) => part.type === "compaction" || !reachesModel(part))
  );
}

/** The compaction marker of a message, if it is one. */
export function compactionPart(message: Message): CompactionPart | undefined {
  return message.parts.find((part) => part.type === "compaction");
}

/** The outcome with another text; a pending one has none. */
export function withText(outcome: ToolOutcome, text: string): ToolOutcome {
  if (outcome.status === "done") return { ...outcome, output: text };
  return outcome.status === "failed" ? { ...outcome, error: text } : outcome;
}
