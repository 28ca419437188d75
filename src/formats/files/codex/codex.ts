import { asObject, asString, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import { COMPACTION_QUESTION, type Part, type ToolPart } from "../../../transcript/part.ts";
import { writeResultContent } from "../../content/result-content.ts";
import { markerNote, writeCompactions } from "../../lines/compaction-lines.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import { collectWindow, type WindowLimits } from "../../lines/decode-lines.ts";
import {
  type CallPiece,
  type CreateContext,
  dateOf,
  type LineFormat,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
} from "../../lines/line-format.ts";
import { noteOfMessage, withNote } from "../../lines/line-note.ts";
import {
  argumentsText,
  partText,
  pieceText,
  resultPart,
  resultPieces,
  textsOf,
  writeContent,
} from "../../lines/pieces.ts";
import type { LineCollector } from "../../lines/read-json-lines.ts";
import { codexLine, withItem } from "./codex-line.ts";
import { isForScreen, OUTPUT_SHAPE, readCodexLines, readContent } from "./read-codex-lines.ts";
import { closeHistories, openHistories, withoutCopies } from "./replaced-history.ts";

/** The lines of a Codex rollout, each parsed. Lines and fields that are not understood are kept as they are. */
export type CodexWire = readonly unknown[];

/** Codex's rollout files: its items without the turns that were rolled back, with its compactions. */
export const codex: Format<CodexWire> = /* @__PURE__ */ createLineFormat(/* @__PURE__ */ lineFormat());

/** Collects a rollout in the memory of its window. */
export function collectCodexWindow(limits?: WindowLimits): LineCollector {
  return collectWindow(
    {
      ...lineFormat(),
      slim: (line) => (isForScreen(line) ? undefined : line),
      // Turns are taken back only as far as the newest compaction.
      liveLines: () => [],
      linkOf: () => ({}),
      isCompaction: (line) => asObject(line).type === "compacted",
      headsOf: (lines) =>
        ["session_meta", "turn_context", "event_msg"].flatMap(
          (name) => lines.findLast((line) => asObject(line).type === name) ?? [],
        ),
    },
    limits,
  );
}

function lineFormat(): LineFormat<CodexWire> {
  return {
    name: "codex",
    open: openHistories,
    read: readCodexLines,
    write: writeLine,
    create: createLines,
    answer: answerLines,
    close: closeLines,
  };
}

/** A line with other pieces. */
function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const read = codexLine(line);
  if (read.type === "compacted") return writeCompacted(asObject(line), pieces);
  return read.type === "item" ? withItem(line, writeItem(read.item, pieces)) : asObject(line);
}

/** Lines for new messages. A marker and the summary behind it are one line of this file. */
function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return writeCompactions(messages, context, {
    compaction: compactedLine,
    marker: markerLine,
    message: messageLines,
  });
}

/** A line for each result. */
function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map((result) => itemLine(newOutput(result), context.at));
}

/** The lines, with marks where an edit would merge two messages into one; numbered lines are renumbered. */
function closeLines(wire: CodexWire, placed: readonly PlacedLine[]): CodexWire {
  const lines = openHistories(wire);
  const keysBefore = readCodexLines(lines).map((ofLine) => ofLine.at(-1)?.key);
  const keysNow = readCodexLines(placed.map(({ line }) => line)).map((ofLine) => ofLine.at(-1)?.key);
  const isNumbered = lines.some((line) => asObject(line).ordinal !== undefined);
  const begun = new Set<string>();
  /** By the key that lines have now: the message that they began with. */
  const beganWith = new Map<string, string>();
  const apart = placed.map((each, index): PlacedLine => {
    const { line, origin } = each;
    const now = keysNow[index];
    const before = origin === -1 ? now : keysBefore[origin];
    if (now === undefined || before === undefined) return each;
    const isSwallowed = (beganWith.get(now) ?? before) !== before && !begun.has(before);
    begun.add(before);
    if (!beganWith.has(now)) beganWith.set(now, before);
    return isSwallowed ? { line: withStart(line), origin } : each;
  });
  return closeHistories(apart).map((line, index) => numbered(line, index, isNumbered));
}

function numbered(line: unknown, ordinal: number, isNumbered: boolean): unknown {
  return isNumbered && asObject(line).ordinal !== ordinal ? { ...asObject(line), ordinal } : line;
}

function withStart(line: unknown): object {
  const { carryover } = asObject(line);
  return { ...asObject(line), carryover: { ...asObject(carryover), starts: true } };
}

function compactedLine(marker: Message | undefined, summary: Message, context: CreateContext): UnknownObject {
  const { id, parts, createdAt } = summary;
  return {
    timestamp: dateOf(createdAt ?? context.at),
    type: "compacted",
    payload: {
      message: parts.map(partText).join("\n\n"),
      replacement_history: [newMessage("user", parts)],
    },
    carryover: { id, ...markerNote(marker) },
  };
}

/** A marker without a summary is written as a question: a compaction without a text would erase the agent's memory. */
function markerLine(marker: Message, { at }: CreateContext): object {
  const item = newMessage("user", [{ type: "text", text: COMPACTION_QUESTION }]);
  const line = { ...itemLine(item, marker.createdAt ?? at), carryover: { id: marker.id, asks: true } };
  return withNote(line, noteOfMessage(marker));
}

/** Texts are one item, each call is its own; the assistant's items are read as one message, so the first marks where it starts. */
function messageLines(message: Message, context: CreateContext): readonly object[] {
  const at = message.createdAt ?? context.at;
  const role = message.role === "system" ? "developer" : message.role === "assistant" ? "assistant" : "user";
  const calls = message.parts.filter((part) => part.type === "tool");
  const others = message.parts.filter((part) => part.type !== "tool");
  const items = [...(others.length === 0 ? [] : [newMessage(role, others)]), ...calls.map(newCall)];
  const note = noteOfMessage({ ...message, parts: others });
  const lines = items.map((item, index) => {
    const line = itemLine(item, at);
    if (index > 0) return line;
    return withNote({ ...line, carryover: { id: message.id, starts: true } }, note);
  });
  return [...lines, ...answerLines(resultPieces(calls), context)];
}

function itemLine(item: UnknownObject, at: number): UnknownObject {
  return omitUndefined({ timestamp: dateOf(at), type: "response_item", payload: item });
}

/** A compaction with other pieces: those of the history that replaces the old one stay in their items. */
function writeCompacted(line: UnknownObject, pieces: readonly NextPiece[]): object {
  const payload = asObject(line.payload);
  const isMarker = ({ was }: NextPiece) => was.half === "whole" && was.part.type === "compaction";
  const carryover = asObject(line.carryover);
  const own = pieces.filter((piece) => !isMarker(piece));
  const marked = pieces.some(isMarker) ? line : { ...line, carryover: { ...carryover, marker: false } };
  const text = textsOf(own.filter(isSummary)).at(-1) ?? "";
  if (!Array.isArray(payload.replacement_history))
    return { ...marked, payload: { ...payload, message: text } };
  let start = 0;
  const history = payload.replacement_history.map(asObject).flatMap((item): readonly UnknownObject[] => {
    const count = item.type === "message" ? readContent(item.content).length : 1;
    const first = start;
    start += count;
    const inside = own.filter(({ index }) => index >= first && index < first + count);
    if (inside.length === 0) return count === 0 ? [item] : [];
    if (item.type !== "message") return [item];
    if (inside.length === count && inside.every(({ was, now }) => was === now)) return [item];
    const moved = inside.map((piece) => ({ ...piece, index: piece.index - first }));
    return [withContent(item, moved, `${asString(item.role)}`)];
  });
  const isKept = own.some((piece) => isSummary(piece) && piece.was === piece.now);
  const message = isKept ? payload.message : text;
  return { ...marked, payload: { ...withoutCopies(payload), message, replacement_history: history } };
}

/** True for what a summary says; what the user typed is repeated beside it. */
function isSummary({ now }: NextPiece): boolean {
  return now.half === "whole" && now.part.type === "text" && now.part.synthetic === true;
}

/** An item with other pieces. One whose only piece became something else is an item of that other kind. */
function writeItem(item: UnknownObject, pieces: readonly NextPiece[]): UnknownObject {
  if (item.type === "message") {
    return withContent(item, pieces, typeof item.role === "string" ? item.role : "user");
  }
  const [only] = pieces;
  if (only === undefined || only.now === only.was) return item;
  const { was, now } = only;
  if (now.half === "result") {
    return was.half === "result" ? changedOutput(item, now, was) : newOutput(now);
  }
  if (now.half === "call" && was.half === "call") return changedCall(item, now);
  const { part } = now;
  if (part.type === "reasoning" && item.type === "reasoning") {
    // The encrypted content still has the old text.
    const { content: _, ...rest } = item;
    return { ...rest, summary: [{ type: "summary_text", text: part.text }], encrypted_content: null };
  }
  return newMessage(was.half === "result" ? "user" : "assistant", [part]);
}

/** A message item with other pieces; unchanged blocks are the same references. */
function withContent(item: UnknownObject, pieces: readonly NextPiece[], role: string): UnknownObject {
  const type = textType(role);
  const blocks = Array.isArray(item.content) ? item.content : [{ type, text: item.content }];
  const content = writeContent(blocks, pieces, ({ was, now }, block) => {
    const isText = was.half === "whole" && was.part.type === "text";
    return isText ? { ...block, text: pieceText(now) } : { type, text: pieceText(now) };
  });
  return { ...item, content };
}

/** A message item for parts that no line held. */
function newMessage(role: string, parts: readonly Part[]): UnknownObject {
  const content = parts.map((part) => ({ type: textType(role), text: partText(part) }));
  return { type: "message", role, content };
}

/** A call item for a part that no line held. */
function newCall({ callId, tool, input }: ToolPart): UnknownObject {
  return { type: "function_call", name: tool, arguments: argumentsText(input), call_id: callId };
}

/** An output item for a result that no line held. */
function newOutput({ callId, outcome }: ResultPiece): UnknownObject {
  return { type: "function_call_output", call_id: callId, output: outcomeText(outcome) };
}

function changedOutput(item: UnknownObject, now: ResultPiece, was: ResultPiece): UnknownObject {
  const { content } = asObject(item.output);
  const named = { ...item, call_id: now.callId };
  if (item.type === "tool_search_output") return { ...named, tools: [], shortened: outcomeText(now.outcome) };
  if (typeof content === "string") {
    return { ...named, output: { ...asObject(item.output), content: outcomeText(now.outcome) } };
  }
  const before = resultPart(was);
  return {
    ...named,
    output: writeResultContent(resultPart(now), { before, content: item.output, shape: OUTPUT_SHAPE }),
  };
}

function changedCall(item: UnknownObject, { part }: CallPiece): UnknownObject {
  const { tool: name, input, callId: call_id } = part;
  if (item.type === "function_call") return { ...item, call_id, name, arguments: argumentsText(input) };
  if (item.type === "custom_tool_call") return { ...item, call_id, name, input: argumentsText(input) };
  if (item.type === "tool_search_call") return { ...item, call_id, arguments: input };
  return { ...item, call_id, action: input };
}

function textType(role: string): string {
  return role === "assistant" ? "output_text" : "input_text";
}
