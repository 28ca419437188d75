import { asNumber, asObject, omitUndefined, type UnknownObject } from "../../../text/json.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import { outcomeText, type Part, type ToolPart } from "../../../transcript/part.ts";
import { textFor, writeResultContent } from "../../blocks/block-content.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import {
  type CreateContext,
  dateOf,
  type LinePiece,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
  resultPart,
  resultPieces,
} from "../../lines/line-format.ts";
import { withNote } from "../../lines/line-note.ts";
import { relink } from "../../lines/line-tree.ts";
import { joinCompactions, markerPart, mergeNotes, noteOfMessage } from "../../lines/new-messages.ts";
import { keysOf, linkOf, liveLines, RESULT_SHAPE, readLines, SUMMARY_GAP } from "./read-lines.ts";

/** The lines of a pi session file, each parsed. Lines and fields that are not understood are kept as they are. */
export type PiWire = readonly unknown[];

/** pi's session files, of all versions: the branch that ends with the newest line, with its compactions. */
export const pi: Format<PiWire> = createLineFormat<PiWire>({
  name: "pi",
  open: (wire) => (Array.isArray(wire) ? wire : []),
  read: readLines,
  write: writeLine,
  create: createLines,
  answer: answerLines,
  close: (wire, placed) => closeLines(wire, placed),
});

/** A line with other pieces. */
function writeLine(value: unknown, pieces: readonly NextPiece[]): object {
  const line = asObject(value);
  if (line.type === "compaction") return writeCompaction(line, pieces);
  if (line.type === "custom_message") return { ...line, content: writeBlocks(line.content, pieces) };
  if (line.type === "branch_summary") return { ...line, summary: textOf(pieces) };
  const message = asObject(line.message);
  const [only] = pieces;
  if (message.role === "toolResult") {
    if (only?.now.half === "result" && only.was.half === "result") {
      return { ...line, message: changedResult(message, only.now, only.was) };
    }
    const { timestamp } = message;
    return { ...line, message: omitUndefined({ role: "user", content: writeBlocks([], pieces), timestamp }) };
  }
  if (message.role === "bashExecution") {
    const { timestamp } = message;
    const content = [{ type: "text", text: textOf(pieces) }];
    return {
      ...line,
      message: omitUndefined({ role: "custom", customType: "bash", content, display: true, timestamp }),
    };
  }
  return { ...line, message: { ...message, content: writeBlocks(message.content, pieces) } };
}

/** Lines for new messages. A marker and the summary behind it are one line of this file. */
function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return joinCompactions(messages, context, {
    compaction: compactionLine,
    marker: markerLine,
    message: messageLines,
  });
}

/** A line for each result, as the agent writes them. */
function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map((result) => ({
    ...baseOf(context, `${result.callId}~result`, context.at),
    type: "message",
    message: newResult(result, context.at),
  }));
}

/** The lines with their chain of parents whole; in the first version of the file lines are named by their number. */
function closeLines(lines: readonly unknown[], placed: readonly PlacedLine[]): readonly unknown[] {
  const isTree = lines.some((line) => linkOf(line) !== undefined);
  const newIndexOf = new Map(placed.map(({ origin }, index) => [origin, index]));
  if (!isTree) {
    const keys = keysOf(lines);
    return placed.map(({ line, origin }, index) =>
      origin === -1 ? withoutId(line, index) : withKeptIndex(line, { newIndexOf, keys }),
    );
  }
  return relink({
    lines,
    placed,
    isLive: liveLines,
    linkOf,
    withParent: (line, parent) => ({ ...line, parentId: parent ?? null }),
  });
}

/** A compaction that names the first line it kept by its number; when that line left, by its name. */
function withKeptIndex(
  line: unknown,
  { newIndexOf, keys }: { newIndexOf: ReadonlyMap<number, number>; keys: readonly (string | undefined)[] },
): unknown {
  const { firstKeptEntryIndex, ...rest } = asObject(line);
  const index = asNumber(firstKeptEntryIndex);
  if (index === undefined) return line;
  const now = newIndexOf.get(index);
  if (now === index) return line;
  return now === undefined
    ? omitUndefined({ ...rest, firstKeptEntryId: keys[index] })
    : { ...rest, firstKeptEntryIndex: now };
}

/** A new line in a file whose lines have no ids. A compaction that names its own number keeps nothing from before. */
function withoutId(line: unknown, index: number): object {
  const { id: _, parentId: __, firstKeptEntryId, ...rest } = asObject(line);
  return firstKeptEntryId === undefined ? rest : { ...rest, firstKeptEntryIndex: index };
}

function writeCompaction(line: UnknownObject, pieces: readonly NextPiece[]): object {
  const parts = pieces.flatMap(({ now }) => (now.half === "whole" ? [now.part] : []));
  const marker = parts.find((part) => part.type === "compaction");
  const carryover = { ...asObject(line.carryover), ...(marker === undefined && { marker: false }) };
  const kept = marker?.tailStartId === undefined ? {} : { firstKeptEntryId: marker.tailStartId };
  const isTree = line.firstKeptEntryIndex === undefined;
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return withSummary({ ...line, ...(isTree && kept), carryover }, texts);
}

/** A summary of several parts is one text in this file; where each ends is noted. */
function withSummary(line: UnknownObject, texts: readonly string[]): UnknownObject {
  const { lengths: _, ...own } = asObject(line.carryover);
  const carryover = texts.length > 1 ? { ...own, lengths: texts.map((text) => text.length) } : own;
  return { ...line, summary: texts.join(SUMMARY_GAP), carryover };
}

function compactionLine(marker: Message | undefined, summary: Message, context: CreateContext): object {
  const part = marker === undefined ? undefined : markerPart(marker);
  const base = baseOf(context, summary.id, summary.createdAt);
  const carryover = marker === undefined ? { marker: false } : { markerId: marker.id };
  const line = {
    ...base,
    type: "compaction",
    // A line that names itself keeps nothing from before.
    firstKeptEntryId: part?.tailStartId ?? summary.id,
    tokensBefore: 0,
    fromHook: true,
    carryover,
  };
  const parts = summary.parts.filter((each) => each.type === "text");
  const texts = parts.map(({ text }) => text);
  const note = noteOfMessage({ ...summary, parts }, marker === undefined ? 0 : 1);
  const asked = marker === undefined ? undefined : noteOfMessage(marker);
  return withNote(withSummary(line, texts), mergeNotes(asked, note));
}

/** A marker whose summary has not come is a compaction that says nothing yet. */
function markerLine(marker: Message, context: CreateContext): object {
  const carryover = { markerId: marker.id };
  const base = baseOf(context, marker.id, marker.createdAt);
  const line = { ...base, type: "compaction", summary: "", tokensBefore: 0, fromHook: true, carryover };
  return withNote(
    { ...line, firstKeptEntryId: markerPart(marker)?.tailStartId ?? marker.id },
    noteOfMessage(marker),
  );
}

function messageLines(message: Message, context: CreateContext): readonly object[] {
  const base = baseOf(context, message.id, message.createdAt);
  const timestamp = message.createdAt ?? context.at;
  const content = message.parts.map(newBlock);
  const isAssistant = message.role === "assistant";
  const body = isAssistant
    ? {
        role: "assistant",
        content,
        api: "unknown",
        provider: message.model?.provider ?? "unknown",
        model: message.model?.id ?? "unknown",
        usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
        stopReason: message.finish ?? "stop",
        timestamp,
      }
    : { role: "user", content, timestamp };
  const line = withNote({ ...base, type: "message", message: body }, noteOfMessage(message));
  return [line, ...answerLines(resultPieces(message.parts), context)];
}

function baseOf({ at }: CreateContext, id: string, createdAt: number | undefined): UnknownObject {
  return omitUndefined({ id, parentId: null, timestamp: dateOf(createdAt ?? at) });
}

function textOf(pieces: readonly NextPiece[]): string {
  return pieces
    .flatMap(({ now }) => (now.half === "whole" && now.part.type === "text" ? [now.part.text] : []))
    .join(SUMMARY_GAP);
}

/** The content of a message with other pieces: a text stays a text, unchanged blocks are the same references. */
function writeBlocks(content: unknown, pieces: readonly NextPiece[]): unknown {
  const [only] = pieces;
  if (typeof content === "string" && pieces.length === 1 && only !== undefined) {
    const { now } = only;
    if (now.half === "whole" && now.part.type === "text") return now.part.text;
  }
  const blocks = Array.isArray(content) ? content : [];
  return pieces.map(({ index, was, now }) => {
    const block: unknown = blocks[index];
    return now === was && block !== undefined ? block : writeBlock(now, was, asObject(block));
  });
}

function writeBlock(now: LinePiece, was: LinePiece, block: UnknownObject): UnknownObject {
  if (now.half === "call" && was.half === "call") {
    return { ...block, name: now.part.tool, arguments: now.part.input };
  }
  if (now.half === "result") return { type: "text", text: outcomeText(now.outcome) };
  const isSameType = was.half === "whole" && was.part.type === now.part.type;
  if (now.part.type === "text" && isSameType) return { ...block, type: "text", text: now.part.text };
  return newBlock(now.part);
}

/** A block for a part that no line held. */
function newBlock(part: Part): UnknownObject {
  if (part.type === "reasoning") return { type: "thinking", thinking: part.text };
  if (part.type === "tool") return newCall(part);
  return { type: "text", text: textFor(part) ?? "" };
}

function newCall({ callId, tool, input }: ToolPart): UnknownObject {
  return { type: "toolCall", id: callId, name: tool, arguments: input ?? {} };
}

/** A `toolResult` message with another outcome; its images stay unless the edit left them out. */
function changedResult(message: UnknownObject, now: ResultPiece, was: ResultPiece): UnknownObject {
  // What the agent keeps beside the text for its own screen says the output again.
  const { details: _, ...rest } = message;
  const before = resultPart(was);
  const content = writeResultContent(resultPart(now), {
    before,
    content: message.content,
    shape: RESULT_SHAPE,
  });
  return {
    ...rest,
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    isError: now.outcome.status === "failed",
  };
}

/** A `toolResult` message for a call that had none. */
function newResult({ callId, tool, outcome }: ResultPiece, at: number): UnknownObject {
  return {
    role: "toolResult",
    toolCallId: callId,
    toolName: tool ?? "unknown",
    content: [{ type: "text", text: outcomeText(outcome) }],
    isError: outcome.status === "failed",
    timestamp: at,
  };
}
