import { fenceData } from "../text/fence.ts";
import { safeJson } from "../text/json.ts";
import { normalizeText } from "../text/normalize.ts";
import { type TruncateOptions, truncate } from "../text/truncate.ts";
import { asObject, asString } from "../text/unknown-value.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  normalizePartText,
  type Role,
  type Transcript,
  withMetadata,
  withText,
} from "./message.ts";
import {
  CLEARED_PLACEHOLDER,
  type FilePart,
  type Handle,
  type Part,
  type TextPart,
  type ToolOutcome,
  type ToolPart,
} from "./part.ts";

/**
 * A message as text: a newline, a label line, its visible parts. Empty when there is nothing to show.
 * The one way in which transcripts become text; sizes are lengths of this.
 */
export function renderMessage(message: Message): string {
  return renderWith(message, renderTool);
}

function renderWith(message: Message, toolLines: (part: ToolPart) => string): string {
  if (!isVisibleToModel(message)) return "";
  let lines = "";
  for (const part of message.parts) {
    if (part.agentVisible !== false)
      lines += part.type === "tool" ? toolLines(part) : renderPart(part, message);
  }
  return lines === "" ? "" : `\n${roleLabel(message.role)}:${lines}`;
}

/** A cheap lower bound of the rendered length of a message: its texts and inputs only. */
export function leastChars(message: Message): number {
  if (!isVisibleToModel(message)) return 0;
  let chars = 0;
  for (const part of message.parts) {
    if (part.agentVisible === false) continue;
    if (part.type === "text" && !part.ignored && !part.own) chars += shownChars(normalText(part, message));
    if (part.type !== "tool") continue;
    if (!part.callMissing) chars += leastInputChars(part);
    if (!isCleared(part)) chars += shownChars(normalize(outcomeText(part.outcome)));
  }
  return chars;
}

/** The strings alone: escapes only make them longer. */
function leastInputChars({ input, inputCut }: ToolPart): number {
  let chars = 0;
  try {
    for (const value of inputCut === undefined ? Object.values(asObject(input)) : [inputCut.preview])
      if (typeof value === "string") chars += normalize(value).length;
  } catch {
    // A getter or a proxy of the input threw.
  }
  return chars;
}

function shownChars(text: string): number {
  return text.trim() === "" ? 0 : text.length;
}

/** True when a message has something to show, as far as can be told without rendering it. */
export function isRendered(message: Message): boolean {
  return (
    isVisibleToModel(message) && message.parts.some((part) => part.agentVisible !== false && hasContent(part))
  );
}

function hasContent(part: Part): boolean {
  if (part.type === "text") return !part.ignored && !part.own && part.text.trim() !== "";
  if (part.type === "tool") return !part.callMissing || part.outcome.status !== "pending";
  return part.type === "file";
}

/** A renderer with a cache, for one piece of work over the same messages. */
export function createRenderer(): (message: Message) => string {
  const toolLines = memoize(renderTool);
  return memoize((message: Message) => renderWith(message, toolLines));
}

/** Caches the results of a function by its argument. */
export function memoize<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const done = new Map<Key, Value>();
  return (key) => {
    const known = done.get(key);
    if (known !== undefined) return known;
    const value = compute(key);
    done.set(key, value);
    return value;
  };
}

/** The tag around inherited text; the text can neither open nor close it. */
export const CONTEXT_TAG = "inherited_context";

/**
 * The rendered part, each line with a line break in front. Strings are concatenated, not joined, because JavaScript
 * engines then share them instead of copying.
 */
function renderPart(part: Exclude<Part, ToolPart>, message: Message): string {
  switch (part.type) {
    case "text":
      if (part.ignored || part.own) return "";
      return textLines(fenceData(normalText(part, message), CONTEXT_TAGS));
    case "file":
      return `\n${filePlaceholder(part)}`;
    case "reasoning":
    case "compaction":
    case "opaque":
      return "";
    default:
      return part satisfies never;
  }
}

function renderTool(part: ToolPart): string {
  const call = part.callMissing ? "" : `\n[Tool: ${fencedLine(part.tool)}]${inputText(part)}`;
  const { outcome } = part;
  if (outcome.status === "pending") return call;
  const head = `${call}\n${outcome.status === "failed" ? "[Tool error]" : "[Tool result]"}`;
  if (isCleared(part)) return `${head}\n${CLEARED_PLACEHOLDER}`;
  let lines = head + textLines(normalizeAndFence(outcomeText(outcome)));
  if (outcome.status === "done")
    for (const file of outcome.attachments) lines += `\n${filePlaceholder(file)}`;
  return lines;
}

function inputText(part: ToolPart): string {
  if (part.inputCut !== undefined) return ` ${normalizeAndFence(part.inputCut.preview)}`;
  return part.input === undefined ? "" : ` ${normalizeAndFence(safeJson(part.input))}`;
}

/** The text in place of a file. */
export function filePlaceholder(file: FilePart): string {
  return `[File: ${fencedLine(describeFile(file))}]`;
}

/** A file by its media type, which not every source says, and its name. */
export function describeFile({ mime, filename }: FilePart): string {
  return [asString(mime) ?? "unknown type", ...(filename === undefined ? [] : [filename])].join(" ");
}

/** False for text files and folders, whose content hosts send as a text part. */
export function isMedia({ mime }: FilePart): boolean {
  return !NOT_MEDIA.test(asString(mime) ?? "");
}

const NOT_MEDIA = /^text\/|^application\/x-directory$/;

function textLines(text: string): string {
  return text.trim() === "" ? "" : `\n${text}`;
}

function fencedLine(text: string): string {
  return PLAIN_WORD.test(text) ? text : normalizeAndFence(text).replace(/\s+/g, " ");
}

function normalizeAndFence(text: string): string {
  return fenceData(normalize(text), CONTEXT_TAGS);
}

/** A cheap check first: printable ASCII, accents, arrows and box drawings need no normalizing. */
function normalize(text: string): string {
  return NOT_PRINTABLE.test(text) ? normalizeText(text) : text;
}

function normalText(part: TextPart, message: Message): string {
  return NOT_PRINTABLE.test(part.text) ? normalizePartText(message, part) : part.text;
}

const NOT_PRINTABLE = /[^\t\n\x20-\x7e\xa1-\xac\xae-\u024f\u2010-\u2027\u2190-\u27bf]/;
const PLAIN_WORD = /^[\w .:/-]{1,100}$/;
// Escaped as well: hosts put instructions into reminder tags in the user's name, and inherited text is sent in that
// name.
const CONTEXT_TAGS: readonly string[] = [CONTEXT_TAG, "system-reminder"];

/** The label of a speaker in a conversation written as text. */
export function roleLabel(role: Role): string {
  if (role === "user") return "User";
  if (role === "assistant") return "Agent";
  return fencedLine(role.charAt(0).toUpperCase() + role.slice(1));
}

/** One finished call of a transcript: its output, or its error. */
export interface ToolResult extends ToolCall {
  readonly text: string;
  readonly status: "done" | "failed";
  /** True when the model no longer sees the text. */
  readonly cleared: boolean;
}

/** Every finished call that the model can see, oldest first. The one enumeration that all policies use. */
export function toolResults(transcript: Transcript): readonly ToolResult[] {
  const results: ToolResult[] = [];
  eachVisibleCall(transcript, (message, partIndex, part) => {
    const { outcome } = part;
    if (outcome.status === "pending") return;
    results.push({
      message,
      partIndex,
      part,
      text: outcomeText(outcome),
      status: outcome.status,
      cleared: isCleared(part),
    });
  });
  return results;
}

/** Every call that the model can see and that has no outcome yet, oldest first. */
export function pendingCalls(transcript: Transcript): readonly ToolCall[] {
  const calls: ToolCall[] = [];
  eachVisibleCall(transcript, (message, partIndex, part) => {
    if (part.outcome.status === "pending") calls.push({ message, partIndex, part });
  });
  return calls;
}

/** A tool part and where it stands. */
export interface ToolCall {
  readonly message: Message;
  readonly partIndex: number;
  readonly part: ToolPart;
}

function eachVisibleCall(
  transcript: Transcript,
  visit: (message: Message, partIndex: number, part: ToolPart) => void,
): void {
  for (const message of transcript) {
    if (!isVisibleToModel(message)) continue;
    for (let partIndex = 0; partIndex < message.parts.length; partIndex++) {
      const part = message.parts[partIndex];
      if (part?.type === "tool" && part.agentVisible !== false) visit(message, partIndex, part);
    }
  }
}

/** True when an output was cleared: by its timestamp, or because it is only the placeholder. */
export function isCleared(part: ToolPart): boolean {
  if (part.clearedAt !== undefined) return true;
  return (
    part.outcome.status === "done" &&
    // Compare lengths first: trimming an output of 100 MB would be slow.
    part.outcome.output.length <= CLEARED_PLACEHOLDER.length + 64 &&
    part.outcome.output.trim() === CLEARED_PLACEHOLDER
  );
}

/** Where the content of a part can be recalled. */
export function handleOf(message: Message, partIndex: number): Handle {
  return `${message.id}/${partIndex}`;
}

/** Where the content of messages that follow each other can be recalled. */
export function spanHandle(messages: Transcript): Handle {
  const [first, last] = [messages[0]?.id ?? "", messages.at(-1)?.id ?? ""];
  return first === last ? first : `${first}${SPAN}${last}`;
}

/** The first and the last message that a handle of `spanHandle` names. */
export function readSpanHandle(handle: Handle): readonly [first: MessageId, last: MessageId] | undefined {
  const place = handle.indexOf(SPAN);
  return place === -1 ? undefined : [handle.slice(0, place), handle.slice(place + SPAN.length)];
}

const SPAN = "..";

/** A tool part whose output or error is shortened, with a note that adds to earlier ones; the same reference when nothing was cut. */
export function cutOutcome(part: ToolPart, options: TruncateOptions): ToolPart {
  const { text, cut } = truncate(outcomeText(part.outcome), options);
  if (cut === undefined) return part;
  return {
    ...part,
    outcome: withText(part.outcome, text),
    cut: {
      ...part.cut,
      ...cut,
      originalChars: part.cut?.originalChars ?? cut.originalChars,
      omittedChars: cut.omittedChars + (part.cut?.omittedChars ?? 0),
    },
  };
}

/** True when an earlier edit replaced the whole result by one line. */
export function hasOnlyStub({ cut }: ToolPart): boolean {
  return cut !== undefined && (cut.archivedAs !== undefined || cut.omittedChars >= cut.originalChars);
}

/**
 * Marks a message as archived when all of its results are: a summary stands for them, and each call keeps only a
 * line. Otherwise the same reference.
 */
export function withArchivedKind(message: Message): Message {
  const { parts, role, metadata } = message;
  if (role === "user" || metadata?.kind === ARCHIVED || !parts.some(isArchived)) return message;
  const results = parts.filter((part) => part.type === "tool" && !part.callMissing);
  return results.every(isArchived) ? withMetadata(message, { kind: ARCHIVED }) : message;
}

function isArchived(part: Part): boolean {
  return part.type === "tool" && part.cut?.archivedAs !== undefined;
}

const ARCHIVED = "tool_result_archived";

/** A test whether a tool has one of these names, in upper or lower case. */
export function createToolMatcher(protectedTools: readonly string[]): (tool: string) => boolean {
  const names = new Set(protectedTools.map((name) => name.toLowerCase()));
  return (tool) => names.has(tool.toLowerCase());
}

/** The text of a part: its own, or the outcome of its call; empty for reasoning, files and markers. */
export function partText(part: Part): string {
  if (part.type === "text") return part.text;
  return part.type === "tool" ? outcomeText(part.outcome) : "";
}

/** The text of an outcome: its output, its error, or nothing while it is pending. */
export function outcomeText(outcome: ToolOutcome): string {
  if (outcome.status === "done") return outcome.output;
  return outcome.status === "failed" ? outcome.error : "";
}
