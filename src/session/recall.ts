import { aMeasure, check, required, rule } from "../text/check.ts";
import { fenceSpeakers } from "../text/fence.ts";
import { plural } from "../text/format-number.ts";
import { safeJson } from "../text/json.ts";
import { normalizeOutput } from "../text/normalize.ts";
import type { IndexedText } from "../text/search/text-index.ts";
import { type RedactOptions, redactSecrets } from "../text/secrets/redact-secrets.ts";
import { countLines, headCut, tailCut, truncate } from "../text/truncate.ts";
import { isObject } from "../text/unknown-value.ts";
import type { OutputStore } from "../tool-output/output-store.ts";
import {
  filePlaceholder,
  handleOf,
  isCleared,
  outcomeText,
  readSpanHandle,
  roleLabel,
} from "../transcript/content.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { createRecallSearch, type RecalledMatches, type SearchRecall } from "./search.ts";

/** What to bring back: what a handle names, or what a search finds out of the model's sight, or in what a handle names. */
export type RecallRequest = Handle | { readonly search: string; readonly handle?: Handle };

/** A piece of a recalled text: lines count from 1, characters from 0; without an end, to the end. */
export type RecallRange =
  | { readonly fromLine: number; readonly toLine?: number }
  | { readonly fromChar: number; readonly toChar?: number };

/** What is said about a range that is none, or that has other names; undefined when it can be used. */
export function refuseRange(range: unknown): RecallMissing | undefined {
  const isByChar = isObject(range) && ("fromChar" in range || "toChar" in range);
  const problems = check(isByChar ? CHARS_SHAPE : LINES_SHAPE, range, ["range"]);
  return problems.length === 0 ? undefined : missing(problems.map(({ text }) => text).join("; "));
}

const line = rule("a number of 1 or more", (value) => typeof value === "number" && !(value < 1));
const LINES_SHAPE = { fromLine: required(line), toLine: line };
const CHARS_SHAPE = { fromChar: required(aMeasure), toChar: aMeasure };

export type Recalled = RecalledContent | RecalledMatches | RecallMissing | RecallFailed;

interface RecalledContent {
  readonly status: "found";
  readonly handle: Handle;
  readonly from: "transcript" | "store";
  /** Trimmed; where something is missing it says how much. */
  readonly text: string;
  /** What the tool was asked, for the result of a call; trimmed as well. */
  readonly input?: string;
  readonly totalChars: number;
  readonly totalLines: number;
  readonly isWhole: boolean;
}

interface RecallMissing {
  readonly status: "missing";
  /** What can be done about it. */
  readonly hint: string;
  /** The handles that begin with what was given, where these are several. */
  readonly candidates?: readonly Handle[];
}

/** The store could not be asked, or has a damaged copy: it may well be there. */
interface RecallFailed {
  readonly status: "failed";
  /** Why, and what can be done about it. */
  readonly hint: string;
}

/** How many characters a recall gives at most. */
export const RECALL_MAX_CHARS = 8_000;

/** Where recalled texts come from. What is not asked for is not read. */
export interface RecallSource {
  /** The messages as their owner stores them. */
  messages(): Awaitable<StoredMessages>;
  /** The whole of an output that was saved. */
  saved(handle: Handle): ReturnType<OutputStore["get"]>;
  /** The handles of saved outputs that the conversation names; unset where nobody is shown the beginning of one. */
  savedHandles?(): Awaitable<Iterable<Handle>>;
  /** Everything out of the model's sight, newest first. */
  hidden(): Awaitable<Iterable<IndexedText>>;
}

/** Finds messages by their ids. */
interface StoredMessages {
  find(id: MessageId): Message | undefined;
  /** All of them, oldest first. */
  list(): Transcript;
}

type Awaitable<Value> = Value | Promise<Value>;

interface RecallOptions {
  readonly maxChars: number;
  readonly range: RecallRange | undefined;
  /** Unset leaves secrets in the text. */
  readonly redact: RedactOptions | undefined;
  /** Made by `createRecallSearch` with the same `redact`; one that is kept does not read the texts again. */
  readonly searchHidden?: SearchRecall;
}

/** What a handle names, or the hidden texts that hold what is searched for: normalized and trimmed. */
export async function recall(
  source: RecallSource,
  request: RecallRequest,
  { maxChars, range, redact, searchHidden = createRecallSearch(redact) }: RecallOptions,
): Promise<Recalled> {
  if (isObject(request)) {
    const search = typeof request.search === "string" ? request.search : "";
    if (search.trim() === "") return missing("Give a text to search for.");
    if (request.handle === undefined) return searchHidden(await source.hidden(), { search, maxChars });
    const named = await findNamed(source, request.handle);
    if (named.status !== "found") return named;
    return createRecallSearch(redact)([named], { search, maxChars });
  }
  if (typeof request !== "string" || request === "")
    return missing("Give a handle, or a text to search for.");
  const found = await findNamed(source, request);
  if (found.status !== "found") return found;
  const { handle, from, text, input, isSpoken } = found;
  const clean = (each: string) => (redact === undefined ? each : redactSecrets(each, redact));
  const trimmed = trimRecall(clean(isSpoken ? text : normalizeOutput(text)), {
    maxChars: maxChars - (isSpoken ? ESCAPE_ROOM_CHARS : 0),
    range: isObject(range) ? range : undefined,
  });
  return {
    status: "found",
    handle,
    from,
    ...trimmed,
    ...(isSpoken && { text: withSpeakers(trimmed.text) }),
    ...(input !== undefined && {
      input: trimRecall(clean(normalizeOutput(input)), { maxChars: INPUT_CHARS, range: undefined }).text,
    }),
  };
}

/** What a handle, or the only one that begins so, names. */
async function findNamed(
  source: RecallSource,
  request: Handle,
): Promise<NamedText | RecallMissing | RecallFailed> {
  const whole = await findText(source, request);
  const candidates = whole === undefined ? await handlesWith(source, request) : [];
  if (candidates.length > 1) return ambiguous(request, candidates);
  const [handle = request] = candidates;
  const found = whole ?? (handle === request ? undefined : await findText(source, handle));
  if (!found)
    return missing("Nothing is kept under this handle. Search for a text of it, or run the tool again.");
  return "hint" in found ? found : { status: "found", handle, ...found };
}

type NamedText = FoundText & Pick<RecalledContent, "status" | "handle">;

/** A content hash names a saved output and no message, so the conversation is read only where the store does not have it. */
async function findText(source: RecallSource, handle: Handle): Promise<FoundText | RecallFailed | undefined> {
  const saved = async (): Promise<FoundText | RecallFailed | undefined> => {
    const text = await source.saved(handle);
    if (typeof text === "string") return { from: "store", text };
    return (
      text && {
        status: "failed",
        hint: `What is kept under this handle cannot be read: ${text.reason}. Search for a text of it, or run the tool again.`,
      }
    );
  };
  const isHash = CONTENT_HASH.test(handle);
  const first = isHash ? await saved() : undefined;
  if (first) return first;
  const there = textAt(handle, await source.messages());
  if (there) return { from: "transcript", ...there };
  return isHash ? undefined : saved();
}

interface FoundText extends Pick<RecalledContent, "from" | "text" | "input"> {
  /** True where several speak, each behind a marked label: `withSpeakers` takes the marks out. */
  readonly isSpoken?: true;
}

const CONTENT_HASH = /^[0-9a-f]{64}$/;
const INPUT_CHARS = 2_000;

/** The handles that begin as a shown one does. Only hashes are shown in part: ids of messages may begin with one another. */
async function handlesWith({ savedHandles }: RecallSource, shown: string): Promise<readonly Handle[]> {
  const [, start] = SHORT_HASH.exec(shown.trim()) ?? [];
  if (start === undefined || savedHandles === undefined) return [];
  const known = new Set(await savedHandles());
  return [...known].filter((handle) => CONTENT_HASH.test(handle) && handle.startsWith(start));
}

const SHORT_HASH = /^([0-9a-f]{4,63})(?:…|\.{3})?$/;

function ambiguous(request: string, candidates: readonly Handle[]): RecallMissing {
  const listed = candidates.slice(0, MAX_CANDIDATES);
  const rest = candidates.length - listed.length;
  const more = rest > 0 ? ` and ${rest} more` : "";
  const hint = `${candidates.length} handles begin with ${request}: ${listed.join(", ")}${more}. Give more of the one that you mean.`;
  return { ...missing(hint), candidates };
}

const MAX_CANDIDATES = 10;

function missing(hint: string): RecallMissing {
  return { status: "missing", hint };
}

/**
 * A text, or a range of it, within a number of characters: head and tail of a whole that is longer, the beginning of a
 * range that is, and where to read on.
 */
export function trimRecall(
  text: string,
  { maxChars, range }: Pick<RecallOptions, "maxChars" | "range">,
): TrimmedRecall {
  const totalLines = countLines(text);
  const totalChars = text.length;
  const sizes = { totalChars, totalLines };
  const [start, end] = range === undefined ? [0, totalChars] : spanOf(text, range);
  if (end - start <= maxChars) {
    const piece = start === 0 && end === totalChars ? text : text.slice(start, end);
    return { text: piece, isWhole: piece === text, ...sizes };
  }
  const limitChars = Math.max(0, maxChars - NOTICE_ROOM_CHARS);
  if (range === undefined) {
    const half = { headRatio: 0.5, tailRatio: 0.5 };
    const { text: cut } = truncate(text, { limitChars, method: "head-tail", ...half });
    const units = totalLines > 1 ? "lines or characters" : "characters";
    const notice = `[${limitChars} of ${totalChars} characters, ${plural(totalLines, "line")}; ask for a range of ${units} to read on]\n`;
    return { text: (notice + cut).slice(0, headCut(notice + cut, maxChars)), isWhole: false, ...sizes };
  }
  const cut = cutSpan(text, { start, end, limitChars });
  const notice = `[characters ${start} to ${cut} of ${totalChars}; read on from character ${cut}]\n`;
  const piece = notice + text.slice(start, cut);
  return { text: piece.slice(0, headCut(piece, maxChars)), isWhole: false, ...sizes };
}

/** A range of a text and the place where it ends, which is earlier than asked for where it is too long. */
export function readRange(text: string, { range, maxChars }: ReadRangeOptions): TextRange {
  const [start, end] = spanOf(text, range);
  const toChar = end - start <= maxChars ? end : cutSpan(text, { start, end, limitChars: maxChars });
  return { text: text.slice(start, toChar), fromChar: start, toChar };
}

interface ReadRangeOptions {
  readonly range: RecallRange;
  readonly maxChars: number;
}

interface TextRange {
  readonly text: string;
  readonly fromChar: number;
  readonly toChar: number;
}

/** Where to end a span that is too long: behind its last line that fits, or within the first. */
function cutSpan(text: string, { start, end, limitChars }: Span): number {
  const limit = Math.min(end, start + limitChars);
  const lineEnd = text.lastIndexOf("\n", limit - 1) + 1;
  return lineEnd > start ? lineEnd : Math.max(start, headCut(text, limit));
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly limitChars: number;
}

type TrimmedRecall = Pick<RecalledContent, "text" | "isWhole" | "totalChars" | "totalLines">;

const NOTICE_ROOM_CHARS = 140;

function spanOf(text: string, range: RecallRange): readonly [number, number] {
  if ("fromChar" in range) {
    const start = clamp(range.fromChar, text.length);
    return [
      tailCut(text, start),
      headCut(text, Math.max(start, clamp(range.toChar ?? text.length, text.length))),
    ];
  }
  const start = lineStart(text, range.fromLine);
  const end = range.toLine === undefined ? text.length : lineStart(text, range.toLine + 1);
  return [start, Math.max(start, end)];
}

function clamp(value: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(0, Math.floor(value))) : value > 0 ? most : 0;
}

/** Where a line begins; the end of the text for lines behind the last. */
function lineStart(text: string, line: number): number {
  let start = 0;
  for (let current = 1; current < line; current++) {
    const end = text.indexOf("\n", start);
    if (end === -1) return text.length;
    start = end + 1;
  }
  return start;
}

/**
 * What a handle names in a transcript: a part by `<messageId>/<partIndex>`, a whole message by its id, several that follow
 * each other by `<messageId>..<messageId>`.
 */
function textAt(handle: Handle, messages: StoredMessages): Omit<FoundText, "from"> | undefined {
  const find = (id: MessageId): Message | undefined => messages.find(id);
  const message = find(handle);
  if (message !== undefined) return { text: recallableMessageText(message) };
  const [first, last] = readSpanHandle(handle)?.map(find) ?? [];
  if (first !== undefined && last !== undefined) {
    const list = messages.list();
    const ids = list.map(({ id }) => id);
    const span = list.slice(ids.indexOf(first.id), ids.lastIndexOf(last.id) + 1);
    return { text: span.map(spokenText).join("\n\n"), isSpoken: true };
  }
  const slash = handle.lastIndexOf("/");
  const part = /^\d{1,9}$/.test(handle.slice(slash + 1))
    ? find(handle.slice(0, Math.max(0, slash)))?.parts[Number(handle.slice(slash + 1))]
    : undefined;
  if (part === undefined) return undefined;
  const text = recallableText(part) ?? "";
  return part.type === "tool" && part.input !== undefined ? { text, input: safeJson(part.input) } : { text };
}

function spokenText(message: Message): string {
  // No normalized text holds the mark, so the label behind it is ours.
  return `\u0001${roleLabel(message.role)}:\n${fenceSpeakers(normalizeOutput(recallableMessageText(message)))}`;
}

const ESCAPE_ROOM_CHARS = 20;

/** A trimmed text with its labels as lines of their own; what a cut has left of a line may read like one only now. */
function withSpeakers(text: string): string {
  const pieces = text.split(/\u0001(.*:)?/);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : fenceSpeakers(piece))).join("");
}

/** Everything that the owner's messages hold and the model does not see, newest message first, each text under its handle. */
export function* hiddenTexts(
  base: Transcript,
  marked: ReadonlyMap<MessageId, Message>,
): Generator<IndexedText, void, undefined> {
  for (const message of base.toReversed()) {
    // Not by place: parts that were taken out of a request shift those behind them.
    const shown = new Set(marked.get(message.id)?.parts.map(visibleText));
    for (const [partIndex, part] of message.parts.entries()) {
      const text = recallableText(part);
      if (text === undefined || text === "" || shown.has(text)) continue;
      yield { handle: handleOf(message, partIndex), text };
    }
  }
}

function visibleText(part: Part): string | undefined {
  if (part.agentVisible === false) return undefined;
  return part.type === "tool" && isCleared(part) ? undefined : recallableText(part);
}

function recallableText(part: Part): string | undefined {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool":
      return part.outcome.status === "pending" ? undefined : outcomeText(part.outcome);
    case "file":
      return filePlaceholder(part);
    case "compaction":
    case "opaque":
      return undefined;
    default:
      part satisfies never;
      return undefined;
  }
}

function recallableMessageText({ parts }: Message): string {
  return parts
    .flatMap((part) => {
      const text = recallableText(part);
      const call =
        part.type === "tool"
          ? [`[Tool: ${part.tool}]${part.input === undefined ? "" : ` ${safeJson(part.input)}`}`]
          : [];
      return text === undefined ? call : [...call, text];
    })
    .join("\n");
}
