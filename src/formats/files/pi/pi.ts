import {
  asArray,
  asNumber,
  asObject,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import { writeResultContent } from "../../content/result-content.ts";
import { markerNote, markerPart, writeCompactions } from "../../lines/compaction-lines.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import {
  type CreateContext,
  dateOf,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
} from "../../lines/line-format.ts";
import { noteOfMessage, withNote } from "../../lines/line-note.ts";
import { relink } from "../../lines/line-tree.ts";
import {
  partText,
  resultPart,
  resultPieces,
  TEXT_GAP,
  textsOf,
  withTexts,
  writeContent,
} from "../../lines/pieces.ts";
import {
  contextEdits,
  keysOf,
  linkOf,
  liveLines,
  originalOf,
  RESULT_SHAPE,
  readPiLines,
  shownLines,
} from "./read-pi-lines.ts";

/** The lines of a pi session file, each parsed. Lines and fields that are not understood are kept as they are. */
export type PiWire = readonly unknown[];

const LINES = { name: "pi", read: readPiLines, write: writeLine, create: createLines, answer: answerLines };

/** pi's session files, of all versions: the branch that ends with the newest line, with its compactions and context edits. */
export const pi: Format<PiWire> = /* @__PURE__ */ createLineFormat<PiWire>({
  ...LINES,
  open: (wire) => shownLines(asArray(wire)),
  close: (wire, placed) => closeLines(wire, withOriginals(asArray(wire), placed)),
});

/** The same with every line as it was before context edits, for who makes those. */
export const piBeforeEdits: Format<PiWire> = /* @__PURE__ */ createLineFormat<PiWire>({
  ...LINES,
  open: asArray,
  close: closeLines,
});

/** A line with other pieces. */
function writeLine(value: unknown, pieces: readonly NextPiece[]): object {
  const line = asObject(value);
  const write = (content: unknown) => writeContent(content, pieces, writeBlock);
  if (line.type === "compaction") return writeCompaction(line, pieces);
  if (line.type === "custom_message") return { ...line, content: write(line.content) };
  if (line.type === "branch_summary") return { ...line, summary: textsOf(pieces).join(TEXT_GAP) };
  const message = asObject(line.message);
  const { role, timestamp } = message;
  const withMessage = (other: UnknownObject) => ({
    ...line,
    message: omitUndefined({ ...other, timestamp }),
  });
  if (role === "toolResult") {
    const [only] = pieces;
    if (only?.now.half === "result" && only.was.half === "result") {
      return { ...line, message: changedResult(message, only.now, only.was) };
    }
    return withMessage({ role: "user", content: write([]) });
  }
  if (role === "bashExecution") {
    const content = [{ type: "text", text: textsOf(pieces).join(TEXT_GAP) }];
    return withMessage({ role: "custom", customType: "bash", content, display: true });
  }
  return { ...line, message: { ...message, content: write(message.content) } };
}

/** Lines for new messages. A marker and the summary behind it are one line of this file. */
function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return writeCompactions(messages, context, {
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

/** What pi sends of a line is no line of the file. One that was changed is what it is now: earlier edits of it go. */
function withOriginals(lines: readonly unknown[], placed: readonly PlacedLine[]): readonly PlacedLine[] {
  const edits = contextEdits(lines);
  const same = new Set(placed.map(({ line }) => originalOf(line)?.id));
  return placed.flatMap(({ line, origin }) => {
    const { type, targetId } = asObject(line);
    if (type === "context_edit" && edits.has(targetId) && !same.has(targetId)) return [];
    return [{ line: originalOf(line) ?? line, origin }];
  });
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

/** Updates the number of the first kept line in a compaction; if that line was dropped, names it by its key. */
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

/** A new line in a file whose lines have no ids. A compaction that names its own number keeps no earlier message. */
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
  return withTexts({ ...line, ...(isTree && kept), carryover }, "summary", textsOf(pieces));
}

function compactionLine(
  marker: Message | undefined,
  summary: Message,
  context: CreateContext,
): UnknownObject {
  const line = {
    ...baseOf(context, summary.id, summary.createdAt),
    type: "compaction",
    // A line that names itself keeps no earlier message.
    firstKeptEntryId: (marker && markerPart(marker)?.tailStartId) ?? summary.id,
    tokensBefore: 0,
    fromHook: true,
    carryover: markerNote(marker),
  };
  return withTexts(line, "summary", summary.parts.map(partText));
}

/** A marker whose summary has not come is a compaction without a text. */
function markerLine(marker: Message, context: CreateContext): object {
  const line = {
    ...baseOf(context, marker.id, marker.createdAt),
    type: "compaction",
    summary: "",
    tokensBefore: 0,
    fromHook: true,
    carryover: { markerId: marker.id },
    firstKeptEntryId: markerPart(marker)?.tailStartId ?? marker.id,
  };
  return withNote(line, noteOfMessage(marker));
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

function writeBlock({ was, now }: NextPiece, block: UnknownObject): UnknownObject {
  if (now.half === "result") return { type: "text", text: outcomeText(now.outcome) };
  if (now.half === "call" && was.half === "call") {
    return { ...block, id: now.part.callId, name: now.part.tool, arguments: now.part.input };
  }
  const { part } = now;
  const isSameType = was.half === "whole" && was.part.type === part.type;
  if (part.type === "text" && isSameType) return { ...block, type: "text", text: part.text };
  return newBlock(part);
}

/** A block for a part that no line held. */
function newBlock(part: Part): UnknownObject {
  if (part.type === "reasoning") return { type: "thinking", thinking: part.text };
  if (part.type !== "tool") return { type: "text", text: partText(part) };
  return { type: "toolCall", id: part.callId, name: part.tool, arguments: part.input ?? {} };
}

/** A `toolResult` message with another outcome; its images stay unless the edit left them out. */
function changedResult(message: UnknownObject, now: ResultPiece, was: ResultPiece): UnknownObject {
  // `details` repeats the output for the agent's screen.
  const { details: _, ...rest } = message;
  const before = resultPart(was);
  const content = writeResultContent(resultPart(now), {
    before,
    content: message.content,
    shape: RESULT_SHAPE,
  });
  return {
    ...rest,
    toolCallId: now.callId,
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
