import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../../text/json.ts";
import { createIdDeduplicator, type MessageError, type Usage } from "../../../transcript/message.ts";
import type { FilePart, ToolOutcome } from "../../../transcript/part.ts";
import { filePart, type ResultShape, readResultContent } from "../../blocks/block-content.ts";
import {
  type LinePiece,
  type LineReading,
  type MessageHead,
  type ResultPiece,
  timeOf,
} from "../../lines/line-format.ts";
import { type LineLink, liveBranch } from "../../lines/line-tree.ts";

/** What each line of a session file gives to the conversation. */
export function readLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const keys = keysOf(lines);
  return lines.map((line, index) => {
    const key = keys[index];
    return isLive[index] && key !== undefined ? readLine(asObject(line), key, keys) : NONE;
  });
}

/** For each line whether it is part of the conversation that the agent would go on with. */
export function liveLines(lines: readonly unknown[]): readonly boolean[] {
  const links = lines.map(linkOf);
  // The first version of the file had no tree: every line counts.
  if (!links.some((link) => link !== undefined)) return lines.map(() => true);
  return liveBranch(links).isLive;
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

const NONE: readonly LineReading[] = [];

function readLine(
  line: UnknownObject,
  key: string,
  keys: readonly (string | undefined)[],
): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  switch (line.type) {
    case "message":
      return readMessage(asObject(line.message), key, createdAt);
    case "custom_message":
      return [
        {
          key,
          head: omitUndefined({ role: "user", createdAt }),
          pieces: readBlocks(line.content).map(asSynthetic),
        },
      ];
    case "branch_summary":
      return typeof line.summary === "string" && line.summary !== ""
        ? [{ key, head: omitUndefined({ role: "user", createdAt }), pieces: [syntheticText(line.summary)] }]
        : NONE;
    case "compaction":
      return readCompaction(line, key, keys);
    default:
      return NONE;
  }
}

function readMessage(
  message: UnknownObject,
  key: string,
  createdAt: number | undefined,
): readonly LineReading[] {
  const { role, content } = message;
  if (role === "toolResult") {
    return [{ key, head: omitUndefined({ role: "user", createdAt }), pieces: [readResult(message)] }];
  }
  if (role === "bashExecution") {
    if (message.excludeFromContext === true) return NONE;
    const text = `$ ${asString(message.command) ?? ""}\n${asString(message.output) ?? ""}`;
    return [{ key, head: omitUndefined({ role: "user", createdAt }), pieces: [syntheticText(text)] }];
  }
  const pieces = readBlocks(content);
  if (role === "assistant") return [{ key, head: assistantHead(message, createdAt), pieces }];
  const isTyped = role === "user";
  return [
    {
      key,
      head: omitUndefined({ role: "user", createdAt }),
      pieces: isTyped ? pieces : pieces.map(asSynthetic),
    },
  ];
}

/** One line that is both where a compaction was asked for and its summary. */
function readCompaction(
  line: UnknownObject,
  key: string,
  keys: readonly (string | undefined)[],
): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  const { markerId, marker } = asObject(line.carryover);
  const firstKept = asNumber(line.firstKeptEntryIndex);
  const tailStartId =
    asString(line.firstKeptEntryId) ?? (firstKept === undefined ? undefined : keys[firstKept]);
  const part = omitUndefined({
    type: "compaction" as const,
    trigger: "auto" as const,
    tailStartId: tailStartId === key ? undefined : tailStartId,
  });
  const asked: LineReading = {
    key: asString(markerId) ?? `${key}~marker`,
    head: omitUndefined({ role: "user", createdAt }),
    pieces: [{ half: "whole", part }],
  };
  const head: MessageHead = omitUndefined({
    role: "assistant",
    createdAt,
    summary: true as const,
    finish: "stop",
  });
  const summary = asString(line.summary) ?? "";
  const told: LineReading = { key, head, pieces: summaryPieces(summary, line) };
  if (summary.trim() === "") return [asked];
  return marker === false ? [told] : [asked, told];
}

/** A summary of ours may have had several parts, which the line keeps as one text. */
function summaryPieces(summary: string, line: UnknownObject): readonly LinePiece[] {
  const { lengths } = asObject(line.carryover);
  const pieces: LinePiece[] = [];
  let start = 0;
  for (const length of Array.isArray(lengths) ? lengths : []) {
    if (typeof length !== "number" || length < 0 || start + length > summary.length) break;
    pieces.push(syntheticText(summary.slice(start, start + length)));
    start += length + SUMMARY_GAP.length;
  }
  return pieces.length > 0 && start === summary.length + SUMMARY_GAP.length
    ? pieces
    : [syntheticText(summary)];
}

/** Between the parts of a summary that are written as one text. */
export const SUMMARY_GAP = "\n\n";

function assistantHead(message: UnknownObject, createdAt: number | undefined): MessageHead {
  const provider = asString(message.provider);
  const id = asString(message.model);
  return omitUndefined({
    role: "assistant",
    createdAt,
    finish: asString(message.stopReason),
    error: readError(message),
    usage: readUsage(message.usage),
    model: provider === undefined || id === undefined ? undefined : { provider, id },
  });
}

function readError({ errorMessage, stopReason }: UnknownObject): MessageError | undefined {
  if (typeof errorMessage !== "string") return undefined;
  return { name: asString(stopReason) ?? "error", text: errorMessage };
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asObject(value);
  return omitUndefined({
    inputTokens: asNumber(usage.input) ?? 0,
    outputTokens: asNumber(usage.output) ?? 0,
    reasoningTokens: asNumber(usage.reasoning) ?? 0,
    cacheReadTokens: asNumber(usage.cacheRead) ?? 0,
    cacheWriteTokens: asNumber(usage.cacheWrite) ?? 0,
    totalTokens: asNumber(usage.totalTokens),
  });
}

function syntheticText(text: string): LinePiece {
  return { half: "whole", part: { type: "text", text, synthetic: true } };
}

function asSynthetic(piece: LinePiece): LinePiece {
  if (piece.half !== "whole" || piece.part.type !== "text") return piece;
  return { ...piece, part: { ...piece.part, synthetic: true } };
}

/** The pieces of a message's content: a plain text, or a list of blocks. */
function readBlocks(content: unknown): readonly LinePiece[] {
  if (typeof content === "string") return [{ half: "whole", part: { type: "text", text: content } }];
  return Array.isArray(content) ? content.map((block) => readBlock(asObject(block))) : [];
}

function readBlock(block: UnknownObject): LinePiece {
  const { type, text, thinking } = block;
  if (type === "text" && typeof text === "string") return { half: "whole", part: { type, text } };
  if (type === "thinking" && typeof thinking === "string") {
    return { half: "whole", part: { type: "reasoning", text: thinking } };
  }
  if (type === "toolCall" && typeof block.id === "string") {
    const tool = asString(block.name) ?? "unknown";
    const { id, arguments: input } = block;
    return { half: "call", part: { type: "tool", callId: id, tool, input, outcome: { status: "pending" } } };
  }
  if (type === "image") return { half: "whole", part: readImage(block) };
  return { half: "whole", part: { type: "opaque", name: asString(type) ?? "unknown" } };
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
