import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { createIdDeduplicator, type MessageError, type Usage } from "../../../transcript/message.ts";
import type { FilePart, ToolOutcome } from "../../../transcript/part.ts";
import { reasoningPart } from "../../blocks/sealed-thoughts.ts";
import { isSigned } from "../../blocks/thought-signature.ts";
import { filePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent } from "../../content/result-content.ts";
import { readUsage, type UsageNames } from "../../content/usage.ts";
import { readCompactionLine } from "../../lines/compaction-lines.ts";
import {
  type LinePiece,
  type LineReading,
  type MessageHead,
  NO_READINGS,
  type ResultPiece,
  timeOf,
  userHead,
} from "../../lines/line-format.ts";
import { collectBranch, type LineLink, liveBranch } from "../../lines/line-tree.ts";
import {
  asSynthetic,
  callPiece,
  opaquePiece,
  splitTexts,
  syntheticText,
  wholePiece,
} from "../../lines/pieces.ts";
import type { LineCollector } from "../../lines/read-json-lines.ts";

/** What each line of a session file gives to the conversation. */
export function readPiLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const keys = keysOf(lines);
  return lines.map((line, index) => {
    const key = keys[index];
    return isLive[index] && key !== undefined ? readLine(asObject(line), key, keys) : NO_READINGS;
  });
}

/** For each line whether it is part of the conversation that the agent would go on with. */
export function liveLines(lines: readonly unknown[]): readonly boolean[] {
  return liveLinks(lines.map(linkOf));
}

function liveLinks(links: readonly (LineLink | undefined)[]): readonly boolean[] {
  // The first version of the file had no tree: every line counts.
  if (!links.some((link) => link !== undefined)) return links.map(() => true);
  return liveBranch(links).isLive;
}

/**
 * The lines as pi sends them: it edits a line by another one behind it, of which the last counts. The same list where nothing
 * was edited; a line that was left out is one of an unknown type, and so kept.
 */
export function shownLines(lines: readonly unknown[]): readonly unknown[] {
  const edits = contextEdits(lines);
  if (edits.size === 0) return lines;
  return lines.map((value) => {
    const line = asObject(value);
    const edit = edits.get(line.id);
    if (edit === undefined || !isEditable(line)) return value;
    const shown = edit === "left-out" ? { ...line, type: edit } : withContent(line, edit.content);
    originals.set(shown, line);
    return shown;
  });
}

/** The line of the file that pi sends as this one, unless it is the same. */
export function originalOf(line: unknown): UnknownObject | undefined {
  return originals.get(asObject(line));
}

const originals = new WeakMap<object, UnknownObject>();

/** The last edit of each line in the branch that ends with the newest, by its id. */
export function contextEdits(lines: readonly unknown[]): ReadonlyMap<unknown, ContextEdit> {
  if (!lines.some(isContextEdit)) return new Map();
  const isLive = liveLines(lines);
  return editsIn(lines.filter((_, index) => isLive[index]));
}

/** The last edit of each of these lines, by its id. */
export function editsIn(lines: readonly unknown[]): ReadonlyMap<unknown, ContextEdit> {
  const edits = new Map<string, ContextEdit>();
  for (const line of lines.filter(isContextEdit)) {
    const { targetId, replacement } = asObject(line);
    const { content } = asObject(replacement);
    if (typeof targetId !== "string") continue;
    if (replacement === null) edits.set(targetId, "left-out");
    else if (typeof content === "string" || Array.isArray(content)) edits.set(targetId, { content });
  }
  return edits;
}

export type ContextEdit = "left-out" | { readonly content: unknown };

function isContextEdit(line: unknown): boolean {
  return asObject(line).type === "context_edit";
}

/** Only the content of these can be edited in pi. */
export function isEditable({ type, message }: UnknownObject): boolean {
  const { role } = asObject(message);
  return (
    type === "custom_message" ||
    (type === "message" && (role === "user" || role === "assistant" || role === "toolResult"))
  );
}

/** A line with another content. */
export function withContent<Line extends UnknownObject>(line: Line, content: unknown): Line {
  return line.type === "message"
    ? { ...line, message: { ...asObject(line.message), content } }
    : { ...line, content };
}

/** Collects the head of the file and the lines of the live branch. */
export function collectPi(): LineCollector {
  return collectBranch({
    nodeOf: (line) => ({ link: linkOf(line), isHead: asObject(line).type === "session" }),
    mayCount: () => true,
    liveNodes(nodes) {
      const isLive = liveLinks(nodes.map(({ link }) => link));
      return nodes.map(({ isHead }, index) => isHead || isLive[index] === true);
    },
  });
}

/** How a line hangs in the tree; the head of the file does not. */
export function linkOf(line: unknown): LineLink | undefined {
  const { type, id, parentId } = asObject(line);
  if (type === "session" || typeof id !== "string") return undefined;
  return { id, parent: asString(parentId), isLeaf: true };
}

/** The name of each line: its id, or in the first version of the file its time. */
export function keysOf(lines: readonly unknown[]): readonly (string | undefined)[] {
  const name = createIdDeduplicator();
  return lines.map((line, index) => {
    const { type, id, timestamp } = asObject(line);
    if (type === "session") return undefined;
    return name(asString(id) ?? asString(timestamp) ?? `line-${index + 1}`);
  });
}

function readLine(
  line: UnknownObject,
  key: string,
  keys: readonly (string | undefined)[],
): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  const fromUser = (pieces: readonly LinePiece[]) => [{ key, head: userHead(createdAt), pieces }];
  switch (line.type) {
    case "message": {
      const message = asObject(line.message);
      const pieces = readMessage(message);
      if (pieces === undefined) return NO_READINGS;
      return message.role === "assistant"
        ? [{ key, head: assistantHead(message, createdAt), pieces }]
        : fromUser(pieces);
    }
    case "custom_message":
      return fromUser(readBlocks(line.content).map(line.customType === OWN_TYPE ? asOwn : asSynthetic));
    case "branch_summary":
      return typeof line.summary === "string" && line.summary !== ""
        ? fromUser([syntheticText(line.summary)])
        : NO_READINGS;
    case "compaction":
      return readCompaction(line, key, keys);
    default:
      return NO_READINGS;
  }
}

/** Names what is ours among the entries of a session. */
export const OWN_TYPE = "carryover";

function asOwn(piece: LinePiece): LinePiece {
  if (piece.half !== "whole" || piece.part.type !== "text") return piece;
  return wholePiece({ ...piece.part, synthetic: true, own: true });
}

/** The pieces of a message; undefined for one that is never sent. */
function readMessage(message: UnknownObject): readonly LinePiece[] | undefined {
  const { role, content } = message;
  switch (role) {
    case "toolResult":
      return [readResult(message)];
    // The prompt and the tools, which pi makes anew.
    case "system":
      return undefined;
    case "bashExecution":
      if (message.excludeFromContext === true) return undefined;
      return [syntheticText(`$ ${asString(message.command) ?? ""}\n${asString(message.output) ?? ""}`)];
    case "user":
    case "assistant":
      return readBlocks(content);
    default:
      return readBlocks(content).map(asSynthetic);
  }
}

/** One line that is both where a compaction was asked for and its summary. */
function readCompaction(
  line: UnknownObject,
  key: string,
  keys: readonly (string | undefined)[],
): readonly LineReading[] {
  const firstKept = asNumber(line.firstKeptEntryIndex);
  const tailStartId =
    asString(line.firstKeptEntryId) ?? (firstKept === undefined ? undefined : keys[firstKept]);
  const marker = omitUndefined({
    type: "compaction" as const,
    trigger: "auto" as const,
    tailStartId: tailStartId === key ? undefined : tailStartId,
  });
  const isBlank = (asString(line.summary) ?? "").trim() === "";
  const summary = isBlank ? [] : splitTexts(line, "summary").map(syntheticText);
  return readCompactionLine(line, key, { marker, summary });
}

function assistantHead(message: UnknownObject, createdAt: number | undefined): MessageHead {
  const provider = asString(message.provider);
  const id = asString(message.model);
  return omitUndefined({
    role: "assistant",
    createdAt,
    finish: asString(message.stopReason),
    error: readError(message),
    usage: readPiUsage(message.usage),
    model: provider === undefined || id === undefined ? undefined : { provider, id },
  });
}

function readError({ errorMessage, stopReason }: UnknownObject): MessageError | undefined {
  if (typeof errorMessage !== "string") return undefined;
  return { name: asString(stopReason) ?? "error", text: errorMessage };
}

/** What an answer used; undefined where it does not say. */
export function readPiUsage(usage: unknown): Usage | undefined {
  return readUsage(usage, USAGE);
}

const USAGE: UsageNames = {
  input: "input",
  output: "output",
  reasoning: "reasoning",
  cacheRead: "cacheRead",
  cacheWrite: "cacheWrite",
  total: "totalTokens",
};

/** The pieces of a message's content: a plain text, or a list of blocks. */
function readBlocks(content: unknown): readonly LinePiece[] {
  if (typeof content === "string") return [wholePiece({ type: "text", text: content })];
  return asArray(content).map((block) => readBlock(asObject(block)));
}

function readBlock(block: UnknownObject): LinePiece {
  const { type, text, thinking, id } = block;
  if (type === "text" && typeof text === "string") return wholePiece({ type, text });
  if (type === "thinking" && typeof thinking === "string")
    return wholePiece(reasoningPart(thinking, block.thinkingSignature));
  if (type === "toolCall" && typeof id === "string") {
    const signed = isSigned(block) ? ({ signed: true } as const) : {};
    return callPiece(id, block.name, block.arguments, signed);
  }
  return type === "image" ? wholePiece(readImage(block)) : opaquePiece(type);
}

/** The result that a `toolResult` message is. */
function readResult(message: UnknownObject): ResultPiece {
  return omitUndefined({
    half: "result" as const,
    callId: asString(message.toolCallId) ?? "",
    tool: asString(message.toolName),
    outcome: readOutcome(message),
  });
}

function readOutcome({ content, isError }: UnknownObject): ToolOutcome {
  const { output, attachments } = readResultContent(content, RESULT_SHAPE);
  return isError === true ? { status: "failed", error: output } : { status: "done", output, attachments };
}

function readImage(block: unknown): FilePart {
  const { mimeType, data } = asObject(block);
  return filePart({ mime: asString(mimeType), base64: asString(data) });
}

/** How a `toolResult` message holds what the tool gave. */
export const RESULT_SHAPE: ResultShape = { textType: "text", readFile: readImage };
