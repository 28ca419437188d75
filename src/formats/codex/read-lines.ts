import type { ModelRef, Usage } from "../../transcript/message.ts";
import { createIdNamer } from "../../transcript/unique-ids.ts";
import { compact, type Fields, fields, numberField, stringField } from "../fields.ts";
import type { LineReading, MessageHead, Piece } from "../transcript-file/piece.ts";
import { timeOf } from "../transcript-file/time-of.ts";
import { codexLine, isAssistantItem, startsTurn } from "./codex-line.ts";
import { readContent, readItem } from "./read-item.ts";

/**
 * What each line of a rollout gives to the conversation. Items that the assistant wrote one after the other are one
 * message; the count of tokens behind them is its usage.
 */
export function readLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const nameMessage = createIdNamer();
  let model: Partial<ModelRef> = {};
  /** The assistant's message that the next item may belong to, and that the next count is about. */
  let open: string | undefined;
  let counted: string | undefined;
  return lines.map((line, index): readonly LineReading[] => {
    const read = codexLine(line);
    if (read.type === "model") {
      model = { ...model, ...compact({ id: read.model, provider: read.provider }) };
      return NONE;
    }
    if (!isLive[index]) return NONE;
    const { timestamp, carryover } = fields(line);
    const createdAt = timeOf(timestamp);
    switch (read.type) {
      case "usage": {
        // Tokens are counted when an answer has ended.
        open = undefined;
        if (counted === undefined) return NONE;
        return [{ key: counted, head: { role: "assistant", usage: readUsage(read.usage) }, pieces: [] }];
      }
      case "compacted": {
        open = undefined;
        counted = undefined;
        return readCompacted(read.payload, { line: fields(line), key: nameMessage(keyOf(line, index)) });
      }
      case "item": {
        const pieces = readItem(read.item);
        const asks = fields(carryover).asks === true;
        const role = roleOf(read.item);
        if (!isAssistantItem(read.item) || asks) {
          open = undefined;
          const key = nameMessage(keyOf(line, index));
          const own = asks ? [{ half: "whole" as const, part: MARKER }] : pieces;
          return [{ key, head: compact({ role, createdAt }), pieces: own }];
        }
        const starts = open === undefined || fields(carryover).starts === true;
        const key: string = starts ? nameMessage(keyOf(line, index)) : (open ?? "");
        open = key;
        counted = key;
        return [{ key, head: compact({ role, createdAt, model: modelOf(model) }), pieces }];
      }
      default:
        return NONE;
    }
  });
}

const NONE: readonly LineReading[] = [];
const MARKER = { type: "compaction", trigger: "auto" } as const;

/** For each line whether it counts: a rollback takes the newest turns back. */
function liveLines(lines: readonly unknown[]): readonly boolean[] {
  const isLive = lines.map(() => true);
  let turns: number[] = [];
  for (const [index, line] of lines.entries()) {
    const read = codexLine(line);
    if (read.type === "item" && startsTurn(read.item)) turns.push(index);
    if (read.type === "compacted") turns = [];
    if (read.type !== "rolled-back" || read.turns === 0 || turns.length === 0) continue;
    const [first = index] = turns.splice(Math.max(0, turns.length - read.turns));
    isLive.fill(false, first, index);
  }
  return isLive;
}

/** One line that is both where a compaction was asked for and what stands for everything before it. */
function readCompacted(
  payload: Fields,
  { line, key }: { readonly line: Fields; readonly key: string },
): readonly LineReading[] {
  const createdAt = timeOf(line.timestamp);
  const { markerId, marker } = fields(line.carryover);
  const asked: LineReading = {
    key: stringField(markerId) ?? `${key}~marker`,
    head: compact({ role: "user", createdAt }),
    pieces: [{ half: "whole", part: MARKER }],
  };
  const head: MessageHead = compact({ role: "assistant", createdAt, summary: true as const, finish: "stop" });
  const pieces = summaryPieces(payload);
  if (pieces.length === 0) return [asked];
  const told: LineReading = { key, head, pieces };
  return marker === false ? [told] : [asked, told];
}

/** What the agent goes on with: the history that replaces the old one, or in old rollouts a summary alone. */
function summaryPieces({ message, replacement_history }: Fields): readonly Piece[] {
  if (!Array.isArray(replacement_history)) {
    const text = stringField(message) ?? "";
    return text.trim() === "" ? [] : [{ half: "whole", part: { type: "text", text, synthetic: true } }];
  }
  return replacement_history.map(fields).flatMap((item): readonly Piece[] => {
    const parts = item.type === "message" ? readContent(item.content) : [];
    if (item.type !== "message") {
      return [{ half: "whole", part: { type: "opaque", name: stringField(item.type) ?? "unknown" } }];
    }
    return parts.map((part) => ({
      half: "whole",
      part: part.type === "text" ? { ...part, synthetic: true } : part,
    }));
  });
}

/** Items have ids of their own only where the provider gave them; a call has its call's, all have their time. */
function keyOf(line: unknown, index: number): string {
  const { timestamp, payload, id, carryover } = fields(line);
  const item = fields(payload);
  const own = stringField(fields(carryover).id) ?? stringField(item.id) ?? stringField(id);
  return own ?? stringField(timestamp) ?? `line-${index + 1}`;
}

function roleOf({ type, role }: Fields): string {
  if (type !== "message") return type?.toString().endsWith("_output") ? "user" : "assistant";
  return role === "developer" ? "system" : (stringField(role) ?? "unknown");
}

function modelOf({ id, provider }: Partial<ModelRef>): ModelRef | undefined {
  return id === undefined ? undefined : { provider: provider ?? "openai", id };
}

function readUsage(usage: Fields): Usage {
  const cacheReadTokens = numberField(usage.cached_input_tokens) ?? 0;
  return compact({
    // The prompt count includes what came from the cache.
    inputTokens: Math.max(0, (numberField(usage.input_tokens) ?? 0) - cacheReadTokens),
    outputTokens: numberField(usage.output_tokens) ?? 0,
    reasoningTokens: numberField(usage.reasoning_output_tokens) ?? 0,
    cacheReadTokens,
    cacheWriteTokens: numberField(usage.cache_write_input_tokens) ?? 0,
    totalTokens: numberField(usage.total_tokens),
  });
}
