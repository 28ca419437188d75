import { jsonOrText, safeJson, textOrJson, tryJson } from "../../text/json.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../text/unknown-value.ts";
import { readCarriedFacts } from "../../transcript/carried-facts.ts";
import { filePlaceholder, outcomeText } from "../../transcript/content.ts";
import { createCallNamer, type MessageMetadata, type Role, type Usage } from "../../transcript/message.ts";
import {
  type CallId,
  COMPACTION_QUESTION,
  type FilePart,
  type MessageId,
  type OpaquePart,
  type Part,
  type ToolPart,
} from "../../transcript/part.ts";
import type { Source } from "./block-adapter.ts";

/** The names under which a format keeps token counts. */
export interface UsageNames {
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite?: string;
  readonly reasoning?: string;
  readonly total?: string;
  /** Set when the input count includes the tokens read from the cache. */
  readonly inputIncludesCache?: true;
}

/** Token counts under the names of a format; undefined for what is no object. */
export function readUsage(value: unknown, names: UsageNames): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asObject(value);
  const count = (name: string | undefined) => (name === undefined ? undefined : asNumber(usage[name]));
  const inputTokens = count(names.input) ?? 0;
  const cacheReadTokens = count(names.cacheRead) ?? 0;
  return omitUndefined({
    inputTokens: names.inputIncludesCache ? Math.max(0, inputTokens - cacheReadTokens) : inputTokens,
    outputTokens: count(names.output) ?? 0,
    reasoningTokens: count(names.reasoning) ?? 0,
    cacheReadTokens,
    cacheWriteTokens: count(names.cacheWrite) ?? 0,
    totalTokens: count(names.total),
  });
}

/** Our own metadata of a message, read back from where a format keeps it; undefined when nothing in it is set. */
export function readMetadata(value: unknown): MessageMetadata | undefined {
  const { agentVisible, userVisible, kind, carried } = asObject(value);
  const metadata = omitUndefined({
    agentVisible: typeof agentVisible === "boolean" ? agentVisible : undefined,
    userVisible: typeof userVisible === "boolean" ? userVisible : undefined,
    kind: asString(kind),
    carried: carried === undefined ? undefined : readCarriedFacts(carried),
  });
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

/**
 * An id for a message of a wire without ids, from its position and content. Results do not count, since
 * they come later than their call; neither does reasoning beside other parts, since hosts take it out of old turns.
 */
export function derivedMessageId(position: number, role: Role, parts: readonly Part[]): MessageId {
  let hash = hashEnds(role, SEED);
  const isOnlyReasoning = parts.every((part) => part.type === "reasoning");
  for (const part of parts) {
    if (part.type !== "reasoning" || isOnlyReasoning) hash = hashEnds(keyOf(part), hash);
  }
  return `m${position + 1}-${(hash >>> 0).toString(36)}`;
}

/** A stable hash of a text; of a long text only both ends count. */
export function hashEnds(text: string, seed: number = SEED): number {
  let hash = seed ^ text.length;
  // Hashing both ends is enough to tell texts apart, and keeps the cost of a long text constant.
  for (let index = 0; index < text.length; index++) {
    if (index === ENDS_CHARS && text.length > 2 * ENDS_CHARS) index = text.length - ENDS_CHARS;
    hash = Math.imul(hash ^ text.charCodeAt(index), PRIME);
  }
  return hash;
}

const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const ENDS_CHARS = 256;

function keyOf(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool":
      return `${part.tool} ${part.callMissing ? part.callId : safeJson(part.input)}`;
    case "file":
      return `${part.mime} ${part.filename ?? ""} ${part.sizeBytes ?? ""}`;
    case "compaction":
      return part.trigger;
    case "opaque":
      return part.name;
    default:
      return part satisfies never;
  }
}

/** A call id that every API takes: itself when it has 1 to 64 letters, digits, `_` and `-`; else a name derived from it. */
export function safeCallId(callId: CallId, maxChars: number = MAX_CALL_ID_CHARS): CallId {
  if (callId.length <= maxChars && SAFE.test(callId)) return callId;
  const name = callId.slice(0, maxChars - HASH_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  return `${name}_${(hashEnds(callId) >>> 0).toString(36)}`;
}

const SAFE = /^[a-zA-Z0-9_-]+$/;
const MAX_CALL_ID_CHARS = 64;
const HASH_CHARS = 16;

/** Calls that wait for their result, by the id that the wire gives them. */
interface OpenCalls<Call> {
  /** `message` tells whether two calls are of one message. */
  add(callId: CallId, message: unknown, call: Call): void;
  /** The call that the next result with this id answers. */
  take(callId: CallId): Call | undefined;
}

/**
 * Servers give one id to many calls. A result answers the newest message that called it, and there the first call that
 * has none: so it stays with its call whichever other pairs are taken out of the wire.
 */
export function createOpenCalls<Call>(): OpenCalls<Call> {
  const waiting = new Map<CallId, OpenMessage<Call>[]>();
  return {
    add(callId, message, call) {
      const messages = waiting.get(callId) ?? [];
      waiting.set(callId, messages);
      const newest = messages.at(-1);
      if (newest !== undefined && newest.message === message) newest.calls.push(call);
      else messages.push({ message, calls: [call], next: 0 });
    },
    take(callId) {
      const messages = waiting.get(callId);
      const newest = messages?.at(-1);
      if (messages === undefined || newest === undefined) return undefined;
      const call = newest.calls[newest.next++];
      if (newest.next === newest.calls.length) messages.pop();
      return call;
    },
  };
}

interface OpenMessage<Call> {
  readonly message: unknown;
  readonly calls: Call[];
  next: number;
}

/** Names the calls of a conversation; the first that gets another id than the wire gives it is marked. */
export function createMarkingNamer(): (part: Part) => Part {
  const nameCall = createCallNamer();
  let isMarked = false;
  return (part) => {
    if (part.type !== "tool" || part.callMissing) return part;
    const callId = nameCall(part.callId);
    if (callId === part.callId) return part;
    const mark = isMarked ? {} : { irregular: true as const };
    isMarked = true;
    return { ...part, callId, ...mark };
  };
}

/** How an API writes what a tool gave: a string, or a list of texts and other things. */
export interface ResultShape {
  /** The `type` of a text in the list. */
  readonly textType: string;
  readFile(block: unknown): FilePart;
}

/** The blocks of a content: a list as it is, a text as one text block, nothing otherwise. */
export function contentBlocks(content: unknown): readonly unknown[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : asArray(content);
}

/** The text of a result, one line break between its texts, and everything else in it as files. */
export function readResultContent(
  content: unknown,
  { textType, readFile }: ResultShape,
): { readonly output: string; readonly attachments: readonly FilePart[] } {
  if (!Array.isArray(content)) return { output: textOrJson(content), attachments: [] };
  const texts: string[] = [];
  const attachments: FilePart[] = [];
  for (const block of content) {
    const text = textOf(block, textType);
    if (text === undefined) attachments.push(readFile(block));
    else texts.push(text);
  }
  return { output: texts.join("\n"), attachments };
}

/** The content of an edited result: the form it had, the new text where the first one stood, the files that are left. */
export function writeResultContent(
  part: ToolPart,
  { before, content, shape }: ResultSource,
): string | readonly unknown[] {
  const text = outcomeText(part.outcome);
  if (!Array.isArray(content)) return text;
  const isTextKept = before?.type === "tool" && outcomeText(before.outcome) === text;
  const isKept = createFileFilter(part);
  const written: unknown[] = [];
  let isTextWritten = isTextKept || text.trim() === "";
  if (!isTextWritten && !content.some((block) => textOf(block, shape.textType) !== undefined)) {
    written.push({ type: shape.textType, text });
    isTextWritten = true;
  }
  for (const block of content) {
    if (textOf(block, shape.textType) === undefined) {
      if (isKept(shape.readFile(block))) written.push(block);
    } else if (isTextKept) {
      written.push(block);
    } else if (!isTextWritten) {
      written.push({ ...asObject(block), text });
      isTextWritten = true;
    }
  }
  return written.length === 0 ? text : written;
}

interface ResultSource {
  readonly before: Part | undefined;
  readonly content: unknown;
  readonly shape: ResultShape;
}

function textOf(block: unknown, textType: string): string | undefined {
  const { type, text } = asObject(block);
  return type === textType && typeof text === "string" ? text : undefined;
}

/** Tells for the files of a result, in their order, which the edit kept. A failed result lists none and keeps all. */
export function createFileFilter({ outcome, clearedAt }: ToolPart): (file: FilePart) => boolean {
  if (outcome.status !== "done") return () => clearedAt === undefined;
  const wanted = outcome.attachments;
  let next = 0;
  return (file) => {
    const isWanted = next < wanted.length && isSameFile(file, wanted[next]);
    if (isWanted) next++;
    return isWanted;
  };
}

/** A part that is kept without being understood, named after its type; `content` is what a model reads of it. */
export function opaquePart(type: unknown, content?: unknown): OpaquePart {
  const name = asString(type) ?? "unknown";
  return content === undefined
    ? { type: "opaque", name }
    : { type: "opaque", name, chars: safeJson(content).length };
}

/** A file part from what an API says of it. Its content is remembered for as long as the part is referenced. */
export function filePart({ mime, filename, base64, url }: FileFields): FilePart {
  const part: FilePart = omitUndefined({
    type: "file" as const,
    mime: mime ?? mimeOfUrl(url) ?? "application/octet-stream",
    filename,
    sizeBytes: base64 === undefined ? dataUrlBytes(url) : base64Bytes(base64),
  });
  const content = base64 ?? url;
  if (content !== undefined) contents.set(part, content);
  return part;
}

const contents = new WeakMap<FilePart, string>();

/** The content of a file that was read with its bytes, in base64. */
export function fileBase64(part: FilePart): string | undefined {
  const content = contents.get(part) ?? "";
  const base64 = content.replace(/^data:[^,]{0,200};base64,/, "");
  return /^[A-Za-z0-9+/]{65,}={0,2}$/.test(base64) ? base64 : undefined;
}

interface FileFields {
  readonly mime?: string | undefined;
  readonly filename?: string | undefined;
  readonly base64?: string | undefined;
  readonly url?: string | undefined;
}

/** True for two files with the same type, name and size. */
export function isSameFile(file: FilePart, other: FilePart | undefined): boolean {
  if (other === undefined) return false;
  return file.mime === other.mime && file.filename === other.filename && file.sizeBytes === other.sizeBytes;
}

function mimeOfUrl(url: string | undefined): string | undefined {
  return url === undefined ? undefined : /^data:([^;,]+)/.exec(url.slice(0, 200))?.[1];
}

function dataUrlBytes(url: string | undefined): number | undefined {
  if (url === undefined || !url.startsWith("data:")) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1) return undefined;
  const data = url.slice(comma + 1);
  return url.slice(0, comma).endsWith(";base64") ? base64Bytes(data) : data.length;
}

function base64Bytes(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

/** The text block of a changed or new part; undefined for one that has no text form. */
export function writeText(
  part: Exclude<Part, ToolPart>,
  { value }: Source<UnknownObject>,
  textType: string,
): UnknownObject | undefined {
  const text = textFor(part);
  if (text === undefined || text.trim() === "") return undefined;
  return part.type === "text" && value !== undefined ? { ...value, text } : { type: textType, text };
}

/** Some blocks with plain texts that stand in a row made one, a blank line between them: not every receiver puts one there. */
export function joinTexts(blocks: readonly unknown[]): readonly unknown[] {
  const runs: unknown[][] = [];
  for (const block of blocks) {
    const last = runs.at(-1);
    if (isPlainText(block) && isPlainText(last?.[0])) last.push(block);
    else runs.push([block]);
  }
  if (runs.length === blocks.length) return blocks;
  return runs.map((run) => {
    const [first] = run;
    const texts = run.filter(isPlainText).map(({ text }) => text);
    return isPlainText(first) ? { ...first, text: texts.join("\n\n") } : first;
  });
}

/** True for a text block in which there is nothing but the text. */
export function isPlainText(block: unknown): block is { readonly type: "text"; readonly text: string } {
  return textOf(block, "text") !== undefined && Object.keys(asObject(block)).length === 2;
}

/** The text in place of a part that an edit wrote: of a marker the question that asks for a summary, of a file its name. */
export function textFor(part: Exclude<Part, ToolPart>): string | undefined {
  switch (part.type) {
    case "text":
      return part.text;
    case "compaction":
      return COMPACTION_QUESTION;
    case "file":
      return filePlaceholder(part);
    case "reasoning":
    case "opaque":
      return undefined;
    default:
      return part satisfies never;
  }
}

/** The input of a call whose wire keeps it as JSON text. Nothing is an empty input; text that is no JSON is the input itself. */
export function readArguments(text: unknown): unknown {
  if (typeof text !== "string") return text ?? {};
  if (text.trim() === "") return {};
  return jsonOrText(text);
}

/** The JSON text of an input. */
export function writeArguments(input: unknown): string {
  return tryJson(input ?? {}) ?? "{}";
}

/** True for a text that parses as JSON. */
export function isJsonText(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
