import type { Message } from "../../transcript/message.ts";
import { COMPACTION_QUESTION } from "../../transcript/part.ts";
import { compact, type Fields, fields } from "../fields.ts";
import { joinCompactions } from "../transcript-file/join-compactions.ts";
import { type LineNote, withNote } from "../transcript-file/note.ts";
import { bothNotes, ownNote } from "../transcript-file/own-note.ts";
import {
  type CreateContext,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
  resultPieces,
} from "../transcript-file/piece.ts";
import { dateOf } from "../transcript-file/time-of.ts";
import { codexLine, withItem } from "./codex-line.ts";
import { readLines } from "./read-lines.ts";
import { writeCompacted } from "./write-compacted.ts";
import { newCall, newMessage, newOutput, writeItem } from "./write-item.ts";

/** A line with other pieces. */
export function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const read = codexLine(line);
  if (read.type === "compacted") return writeCompacted(fields(line), pieces);
  return read.type === "item" ? withItem(line, writeItem(read.item, pieces)) : fields(line);
}

/** Lines for new messages. A marker and the summary behind it are one line of this file. */
export function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return joinCompactions(messages, context, {
    compaction: compactedLine,
    marker: markerLine,
    message: messageLines,
  });
}

/** A line for each result. */
export function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map((result) => itemLine(newOutput(result), context.at));
}

/** The lines, with the borders between messages that an edit would else have taken away; numbered lines are numbered anew. */
export function closeLines(lines: readonly unknown[], placed: readonly PlacedLine[]): readonly unknown[] {
  const keysBefore = readLines(lines).map((ofLine) => ofLine.at(-1)?.key);
  const keysNow = readLines(placed.map(({ line }) => line)).map((ofLine) => ofLine.at(-1)?.key);
  const isNumbered = lines.some((line) => fields(line).ordinal !== undefined);
  const begun = new Set<string>();
  /** The message that the lines which are read as one now began with. */
  const beganWith = new Map<string, string>();
  return placed.map(({ line, origin }, index) => {
    const now = keysNow[index];
    const before = origin === -1 ? now : keysBefore[origin];
    if (now === undefined || before === undefined) return numbered(line, index, isNumbered);
    const isSwallowed = (beganWith.get(now) ?? before) !== before && !begun.has(before);
    begun.add(before);
    if (!beganWith.has(now)) beganWith.set(now, before);
    return numbered(isSwallowed ? withStart(line) : line, index, isNumbered);
  });
}

function numbered(line: unknown, ordinal: number, isNumbered: boolean): unknown {
  return isNumbered && fields(line).ordinal !== ordinal ? { ...fields(line), ordinal } : line;
}

function withStart(line: unknown): object {
  const { carryover } = fields(line);
  return { ...fields(line), carryover: { ...fields(carryover), starts: true } };
}

function compactedLine(marker: Message | undefined, summary: Message, context: CreateContext): object {
  const parts = summary.parts.filter((part) => part.type === "text");
  const carryover = {
    id: summary.id,
    ...(marker === undefined ? { marker: false } : { markerId: marker.id }),
  };
  const line = {
    timestamp: dateOf(summary.createdAt ?? context.at),
    type: "compacted",
    payload: {
      message: parts.map(({ text }) => text).join("\n\n"),
      replacement_history: [newMessage("user", parts)],
    },
    carryover,
  };
  const note = ownNote({ ...summary, parts }, marker === undefined ? 0 : 1);
  const asked = marker === undefined ? undefined : ownNote(marker);
  return withNote(line, bothNotes(asked, note));
}

/** A marker whose summary has not come is a question: a compaction without a text would wipe the agent's memory. */
function markerLine(marker: Message, { at }: CreateContext): object {
  const item = newMessage("user", [{ type: "text", text: COMPACTION_QUESTION }]);
  return noted(
    { ...itemLine(item, marker.createdAt ?? at), carryover: { id: marker.id, asks: true } },
    ownNote(marker),
  );
}

/** Texts are one item, each call is its own; only the assistant's items run together, so the first says where they begin. */
function messageLines(message: Message, context: CreateContext): readonly object[] {
  const at = message.createdAt ?? context.at;
  const role = message.role === "system" ? "developer" : message.role === "assistant" ? "assistant" : "user";
  const calls = message.parts.filter((part) => part.type === "tool");
  const others = message.parts.filter((part) => part.type !== "tool");
  const items = [...(others.length === 0 ? [] : [newMessage(role, others)]), ...calls.map(newCall)];
  const note = ownNote({ ...message, parts: others });
  const lines = items.map((item, index) => {
    const line = itemLine(item, at);
    if (index > 0) return line;
    return noted({ ...line, carryover: { id: message.id, starts: true } }, note);
  });
  return [...lines, ...answerLines(resultPieces(calls), context)];
}

function noted(line: object, note: LineNote): object {
  return withNote(line, note);
}

function itemLine(item: Fields, at: number): Fields {
  return compact({ timestamp: dateOf(at), type: "response_item", payload: item });
}
