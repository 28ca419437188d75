import { jsonOrText, textOrJson } from "../../../text/json.ts";
import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { createIdDeduplicator, type ModelRef } from "../../../transcript/message.ts";
import type { CompactionPart, FilePart, Part, ToolOutcome } from "../../../transcript/part.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent } from "../../content/result-content.ts";
import { readUsage, type UsageNames } from "../../content/usage.ts";
import { readCompactionLine } from "../../lines/compaction-lines.ts";
import {
  type LinePiece,
  type LineReading,
  type MessageHead,
  NO_READINGS,
  timeOf,
} from "../../lines/line-format.ts";
import { asSynthetic, callPiece, opaquePiece, syntheticText, wholePiece } from "../../lines/pieces.ts";
import { collectAll, type LineCollector } from "../../lines/read-json-lines.ts";
import { codexLine } from "./codex-line.ts";
import { isReplacement } from "./replaced-history.ts";

/**
 * What each line of a rollout gives to the conversation. Items that the assistant wrote one after the other are one
 * message; the count of tokens behind them is its usage.
 */
export function readCodexLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const nameMessage = createIdDeduplicator();
  let model: Partial<ModelRef> = {};
  /** The assistant's message that the next item may belong to, and that the next count is about. */
  let open: string | undefined;
  let counted: string | undefined;
  let wasReplacement = false;
  return lines.map((line, index): readonly LineReading[] => {
    const read = codexLine(line);
    if (read.type === "model") {
      model = { ...model, ...omitUndefined({ id: read.model, provider: read.provider }) };
      return NO_READINGS;
    }
    if (!isLive[index]) return NO_READINGS;
    const isReplaced = isReplacement(line);
    // What is behind a history that replaced the old one is an answer of its own.
    if (wasReplacement && !isReplaced) open = undefined;
    wasReplacement = isReplaced;
    const { timestamp, carryover } = asObject(line);
    const createdAt = timeOf(timestamp);
    switch (read.type) {
      case "usage": {
        // Tokens are counted when an answer has ended.
        open = undefined;
        if (counted === undefined) return NO_READINGS;
        const key = counted;
        // What follows for the screen repeats it, or is an estimate.
        if (read.isRecord) counted = undefined;
        const head: MessageHead = omitUndefined({ role: "assistant", usage: readUsage(read.usage, USAGE) });
        return [{ key, head, pieces: [] }];
      }
      case "compacted": {
        open = undefined;
        counted = undefined;
        const summary = summaryPieces(read.payload);
        return readCompactionLine(asObject(line), nameMessage(keyOf(line, index)), {
          marker: MARKER,
          summary,
        });
      }
      case "item": {
        const pieces = readItem(read.item);
        const asks = asObject(carryover).asks === true;
        const role = roleOf(read.item);
        if (!isAssistantItem(read.item) || asks) {
          open = undefined;
          const key = nameMessage(keyOf(line, index));
          const head = omitUndefined({ role, createdAt });
          return [{ key, head, pieces: asks ? [wholePiece(MARKER)] : pieces }];
        }
        const starts = open === undefined || asObject(carryover).starts === true;
        const key: string = starts ? nameMessage(keyOf(line, index)) : (open ?? "");
        open = key;
        counted = isReplaced ? undefined : key;
        return [{ key, head: omitUndefined({ role, createdAt, model: modelOf(model) }), pieces }];
      }
      default:
        return NO_READINGS;
    }
  });
}

const MARKER: CompactionPart = { type: "compaction", trigger: "auto" };

const USAGE: UsageNames = {
  input: "input_tokens",
  output: "output_tokens",
  reasoning: "reasoning_output_tokens",
  cacheRead: "cached_input_tokens",
  cacheWrite: "cache_write_input_tokens",
  total: "total_tokens",
  inputIncludesCache: true,
};

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

/** Collects what is part of the conversation. */
export function collectCodex(): LineCollector {
  return collectAll((line) => !isForScreen(line));
}

/** True for an event that is only for the screen: of events, counts of tokens and rollbacks matter. */
export function isForScreen(line: unknown): boolean {
  const { type, payload } = asObject(line);
  const event = asObject(payload).type;
  return type === "event_msg" && event !== "token_count" && event !== "thread_rolled_back";
}

/**
 * What the agent continues with: the history that replaces the old one, or in old rollouts only a summary. What the user
 * typed is repeated in it word for word; what the summary says is synthetic, and instructions are nobody's words.
 */
function summaryPieces({ message, replacement_history }: UnknownObject): readonly LinePiece[] {
  const summary = (asString(message) ?? "").trim();
  if (!Array.isArray(replacement_history)) return summary === "" ? [] : [syntheticText(`${message}`)];
  const items = replacement_history.map(asObject);
  const named = items.findLastIndex(({ content }) =>
    readContent(content).some((part) => holds(part, summary)),
  );
  const summaryIndex = summary === "" ? -1 : named === -1 ? items.length - 1 : named;
  return items.flatMap(({ type, role, content }, index) => {
    if (type !== "message") return [opaquePiece(type)];
    return readContent(content).map((part) => {
      if (part.type !== "text" || (role === "user" && index === summaryIndex))
        return asSynthetic(wholePiece(part));
      if (role !== "user") return wholePiece(opaquePart(role, part.text));
      return isHostContext(part.text) ? wholePiece(opaquePart("context", part.text)) : asWritten(role, part);
    });
  });
}

function holds(part: Part, summary: string): boolean {
  return part.type === "text" && part.text.includes(summary);
}

/** Items have ids of their own only where the provider gave them; a call has its call's, all have their time. */
function keyOf(line: unknown, index: number): string {
  const { timestamp, payload, id, carryover } = asObject(line);
  const item = asObject(payload);
  const own = asString(asObject(carryover).id) ?? asString(item.id) ?? asString(id);
  return own ?? asString(timestamp) ?? `line-${index + 1}`;
}

function roleOf({ type, role }: UnknownObject): string {
  if (type !== "message") return asString(type)?.endsWith("_output") ? "user" : "assistant";
  return role === "developer" ? "system" : (asString(role) ?? "unknown");
}

function modelOf({ id, provider }: Partial<ModelRef>): ModelRef | undefined {
  return id === undefined ? undefined : { provider: provider ?? "openai", id };
}

/** True for an item that the assistant wrote. */
function isAssistantItem({ type, role }: UnknownObject): boolean {
  if (type === "message") return role === "assistant";
  return !asString(type)?.endsWith("_output");
}

/** True for what the user wrote, not what the agent added in the user's name. */
function startsTurn({ type, role, content }: UnknownObject): boolean {
  if (type !== "message" || role !== "user") return false;
  return !asArray(content).some((each) => ADDED_BY_AGENT.test(asString(asObject(each).text) ?? ""));
}

/** True for what Codex says of itself and its surroundings in the user's name: another agent says that of its own. */
export function isHostContext(text: string): boolean {
  return HOST_CONTEXT.test(text);
}

const HOST_CONTEXT =
  /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|recommended_plugins)\b)/;
const ADDED_BY_AGENT =
  /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|turn_aborted|skill|user_shell_command|subagent_notification|recommended_plugins)\b)/;

/** The pieces of an item; one that is not understood is a single opaque part. */
function readItem(item: UnknownObject): readonly LinePiece[] {
  const { type } = item;
  if (type === "message") return readContent(item.content).map((part) => asWritten(item.role, part));
  if (type === "reasoning") return [wholePiece({ type: "reasoning", text: reasoningText(item) })];
  const callId = asString(item.call_id);
  if (callId === undefined) return [opaquePiece(type)];
  switch (type) {
    case "function_call":
      return [callPiece(callId, item.name, jsonOrText(item.arguments))];
    case "custom_tool_call":
      return [callPiece(callId, item.name, item.input)];
    case "local_shell_call":
      return [callPiece(callId, "local_shell", item.action)];
    case "tool_search_call":
      return [callPiece(callId, "tool_search", item.arguments)];
    case "function_call_output":
    case "custom_tool_call_output":
      return [{ half: "result", callId, outcome: readOutcome(item.output) }];
    case "tool_search_output":
      return [{ half: "result", callId, outcome: readFound(item) }];
    default:
      return [opaquePiece(type)];
  }
}

/** What the agent added in the user's name is marked as such. */
function asWritten(role: unknown, part: Part): LinePiece {
  const isAdded = role === "user" && part.type === "text" && ADDED_BY_AGENT.test(part.text);
  return isAdded ? asSynthetic(wholePiece(part)) : wholePiece(part);
}

/** The parts of a message's content. */
export function readContent(content: unknown): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return asArray(content).map((block) => readBlock(asObject(block)));
}

function readBlock(block: UnknownObject): Part {
  const { type, text } = block;
  const isText = type === "input_text" || type === "output_text" || type === "text";
  if (isText && typeof text === "string") return { type: "text", text };
  if (type === "input_image") return readFile(block);
  return { type: "opaque", name: asString(type) ?? "unknown" };
}

function readFile(block: unknown): FilePart {
  const { image_url, type } = asObject(block);
  return filePart({
    mime: type === "input_image" ? undefined : "application/octet-stream",
    url: asString(image_url),
  });
}

/** How an output holds what the tool gave. */
export const OUTPUT_SHAPE: ResultShape = { textType: "input_text", readFile };

function readOutcome(value: unknown): ToolOutcome {
  // Old rollouts kept the text beside whether it went well.
  const { content, success } = asObject(value);
  const isWrapped = typeof content === "string";
  const { output, attachments } = readResultContent(isWrapped ? content : value, OUTPUT_SHAPE);
  return isWrapped && success === false
    ? { status: "failed", error: output }
    : { status: "done", output, attachments };
}

/** The tools that a search has found; a text that an edit put in their place stands beside them. */
function readFound({ tools, shortened }: UnknownObject): ToolOutcome {
  return { status: "done", output: asString(shortened) ?? textOrJson(tools), attachments: [] };
}

function reasoningText({ summary, content }: UnknownObject): string {
  return [...asArray(summary), ...asArray(content)]
    .flatMap((each) => asString(asObject(each).text) ?? [])
    .join("\n\n");
}
