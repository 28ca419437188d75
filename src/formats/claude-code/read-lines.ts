import type { Usage } from "../../transcript/message.ts";
import { compact, type Fields, fields, numberField, stringField } from "../fields.ts";
import type { LineReading, MessageHead, Piece } from "../transcript-file/piece.ts";
import { timeOf } from "../transcript-file/time-of.ts";
import { liveLines } from "./live-lines.ts";
import { readBlocks } from "./read-blocks.ts";

/** What each line of a session file gives to the conversation. */
export function readLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const keyById = new Map<string, string>();
  return lines.map((line, index) => {
    const uuid = stringField(fields(line).uuid) ?? "";
    const repeated = keyById.get(uuid);
    if (repeated !== undefined) return [{ key: repeated, head: { role: "user" }, pieces: [], repeats: true }];
    const reading = isLive[index] ? readLine(fields(line), index) : undefined;
    if (reading === undefined) return NONE;
    if (uuid !== "") keyById.set(uuid, reading.key);
    return [reading];
  });
}

const NONE: readonly LineReading[] = [];

function readLine(line: Fields, index: number): LineReading | undefined {
  const key = stringField(line.uuid) ?? `line-${index + 1}`;
  const message = fields(line.message);
  const createdAt = timeOf(line.timestamp);
  if (line.type === "system" && line.subtype === "compact_boundary") {
    const trigger = fields(line.compactMetadata).trigger === "manual" ? "manual" : "auto";
    const pieces: readonly Piece[] = [{ half: "whole", part: { type: "compaction", trigger } }];
    return { key, head: compact({ role: "user", createdAt }), pieces };
  }
  if (line.type === "assistant" && message.content !== undefined) {
    // Errors of the connection are shown to the user and never sent.
    if (message.model === "<synthetic>") return undefined;
    return {
      key: stringField(message.id) ?? key,
      head: assistantHead(message, createdAt),
      pieces: readBlocks(message.content),
    };
  }
  if (line.type !== "user" || message.content === undefined) return undefined;
  const pieces = readBlocks(message.content);
  if (line.isCompactSummary === true) {
    const head: MessageHead = compact({
      role: "assistant",
      createdAt,
      summary: true as const,
      finish: "stop",
    });
    return { key, head, pieces: pieces.map(asSynthetic) };
  }
  const head: MessageHead = compact({ role: "user", createdAt });
  return { key, head, pieces: line.isMeta === true ? pieces.map(asSynthetic) : pieces };
}

function assistantHead(message: Fields, createdAt: number | undefined): MessageHead {
  const model = stringField(message.model);
  return compact({
    role: "assistant",
    createdAt,
    finish: stringField(message.stop_reason),
    usage: readUsage(message.usage),
    model: model === undefined ? undefined : { provider: "anthropic", id: model },
  });
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  return {
    inputTokens: numberField(usage.input_tokens) ?? 0,
    outputTokens: numberField(usage.output_tokens) ?? 0,
    reasoningTokens: 0,
    cacheReadTokens: numberField(usage.cache_read_input_tokens) ?? 0,
    cacheWriteTokens: numberField(usage.cache_creation_input_tokens) ?? 0,
  };
}

function asSynthetic(piece: Piece): Piece {
  if (piece.half !== "whole" || piece.part.type !== "text") return piece;
  return { ...piece, part: { ...piece.part, synthetic: true } };
}
