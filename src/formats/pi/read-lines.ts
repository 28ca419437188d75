import type { MessageError, Usage } from "../../transcript/message.ts";
import { createIdNamer } from "../../transcript/unique-ids.ts";
import { compact, type Fields, fields, numberField, stringField } from "../fields.ts";
import { type LineLink, liveBranch } from "../transcript-file/live-branch.ts";
import type { LineReading, MessageHead, Piece } from "../transcript-file/piece.ts";
import { timeOf } from "../transcript-file/time-of.ts";
import { readBlocks, readResult } from "./read-blocks.ts";

/** What each line of a session file gives to the conversation. */
export function readLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const keys = keysOf(lines);
  return lines.map((line, index) => {
    const key = keys[index];
    return isLive[index] && key !== undefined ? readLine(fields(line), key, keys) : NONE;
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
  const { type, id, parentId } = fields(line);
  if (type === "session" || typeof id !== "string") return undefined;
  return { id, parent: stringField(parentId), isLeaf: true };
}

/** The name of each line: its id, or in the first version of the file its time. */
export function keysOf(lines: readonly unknown[]): readonly (string | undefined)[] {
  const name = createIdNamer();
  return lines.map((line, index) => {
    const { type, id, timestamp } = fields(line);
    if (type === "session") return undefined;
    return name(stringField(id) ?? stringField(timestamp) ?? `line-${index + 1}`);
  });
}

const NONE: readonly LineReading[] = [];

function readLine(line: Fields, key: string, keys: readonly (string | undefined)[]): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  switch (line.type) {
    case "message":
      return readMessage(fields(line.message), key, createdAt);
    case "custom_message":
      return [
        {
          key,
          head: compact({ role: "user", createdAt }),
          pieces: readBlocks(line.content).map(asSynthetic),
        },
      ];
    case "branch_summary":
      return typeof line.summary === "string" && line.summary !== ""
        ? [{ key, head: compact({ role: "user", createdAt }), pieces: [syntheticText(line.summary)] }]
        : NONE;
    case "compaction":
      return readCompaction(line, key, keys);
    default:
      return NONE;
  }
}

function readMessage(message: Fields, key: string, createdAt: number | undefined): readonly LineReading[] {
  const { role, content } = message;
  if (role === "toolResult") {
    return [{ key, head: compact({ role: "user", createdAt }), pieces: [readResult(message)] }];
  }
  if (role === "bashExecution") {
    if (message.excludeFromContext === true) return NONE;
    const text = `$ ${stringField(message.command) ?? ""}\n${stringField(message.output) ?? ""}`;
    return [{ key, head: compact({ role: "user", createdAt }), pieces: [syntheticText(text)] }];
  }
  const pieces = readBlocks(content);
  if (role === "assistant") return [{ key, head: assistantHead(message, createdAt), pieces }];
  const isTyped = role === "user";
  return [
    { key, head: compact({ role: "user", createdAt }), pieces: isTyped ? pieces : pieces.map(asSynthetic) },
  ];
}

/** One line that is both where a compaction was asked for and its summary. */
function readCompaction(
  line: Fields,
  key: string,
  keys: readonly (string | undefined)[],
): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  const { markerId, marker } = fields(line.carryover);
  const firstKept = numberField(line.firstKeptEntryIndex);
  const tailStartId =
    stringField(line.firstKeptEntryId) ?? (firstKept === undefined ? undefined : keys[firstKept]);
  const part = compact({
    type: "compaction" as const,
    trigger: "auto" as const,
    tailStartId: tailStartId === key ? undefined : tailStartId,
  });
  const asked: LineReading = {
    key: stringField(markerId) ?? `${key}~marker`,
    head: compact({ role: "user", createdAt }),
    pieces: [{ half: "whole", part }],
  };
  const head: MessageHead = compact({ role: "assistant", createdAt, summary: true as const, finish: "stop" });
  const summary = stringField(line.summary) ?? "";
  const told: LineReading = { key, head, pieces: summaryPieces(summary, line) };
  if (summary.trim() === "") return [asked];
  return marker === false ? [told] : [asked, told];
}

/** A summary of ours may have had several parts, which the line keeps as one text. */
function summaryPieces(summary: string, line: Fields): readonly Piece[] {
  const { lengths } = fields(line.carryover);
  const pieces: Piece[] = [];
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

function assistantHead(message: Fields, createdAt: number | undefined): MessageHead {
  const provider = stringField(message.provider);
  const id = stringField(message.model);
  return compact({
    role: "assistant",
    createdAt,
    finish: stringField(message.stopReason),
    error: readError(message),
    usage: readUsage(message.usage),
    model: provider === undefined || id === undefined ? undefined : { provider, id },
  });
}

function readError({ errorMessage, stopReason }: Fields): MessageError | undefined {
  if (typeof errorMessage !== "string") return undefined;
  return { name: stringField(stopReason) ?? "error", text: errorMessage };
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  return compact({
    inputTokens: numberField(usage.input) ?? 0,
    outputTokens: numberField(usage.output) ?? 0,
    reasoningTokens: numberField(usage.reasoning) ?? 0,
    cacheReadTokens: numberField(usage.cacheRead) ?? 0,
    cacheWriteTokens: numberField(usage.cacheWrite) ?? 0,
    totalTokens: numberField(usage.totalTokens),
  });
}

function syntheticText(text: string): Piece {
  return { half: "whole", part: { type: "text", text, synthetic: true } };
}

function asSynthetic(piece: Piece): Piece {
  if (piece.half !== "whole" || piece.part.type !== "text") return piece;
  return { ...piece, part: { ...piece.part, synthetic: true } };
}
