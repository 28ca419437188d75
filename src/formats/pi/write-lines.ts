import type { Message } from "../../transcript/message.ts";
import { compact, type Fields, fields, numberField } from "../fields.ts";
import { joinCompactions, markerPart } from "../transcript-file/join-compactions.ts";
import { withNote } from "../transcript-file/note.ts";
import { bothNotes, ownNote } from "../transcript-file/own-note.ts";
import {
  type CreateContext,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
  resultPieces,
} from "../transcript-file/piece.ts";
import { relink } from "../transcript-file/relink.ts";
import { dateOf } from "../transcript-file/time-of.ts";
import { keysOf, linkOf, liveLines, SUMMARY_GAP } from "./read-lines.ts";
import { changedResult, newBlock, newResult, writeBlocks } from "./write-blocks.ts";

/** A line with other pieces. */
export function writeLine(value: unknown, pieces: readonly NextPiece[]): object {
  const line = fields(value);
  if (line.type === "compaction") return writeCompaction(line, pieces);
  if (line.type === "custom_message") return { ...line, content: writeBlocks(line.content, pieces) };
  if (line.type === "branch_summary") return { ...line, summary: textOf(pieces) };
  const message = fields(line.message);
  const [only] = pieces;
  if (message.role === "toolResult") {
    if (only?.now.half === "result" && only.was.half === "result") {
      return { ...line, message: changedResult(message, only.now, only.was) };
    }
    const { timestamp } = message;
    return { ...line, message: compact({ role: "user", content: writeBlocks([], pieces), timestamp }) };
  }
  if (message.role === "bashExecution") {
    const { timestamp } = message;
    const content = [{ type: "text", text: textOf(pieces) }];
    return {
      ...line,
      message: compact({ role: "custom", customType: "bash", content, display: true, timestamp }),
    };
  }
  return { ...line, message: { ...message, content: writeBlocks(message.content, pieces) } };
}

/** Lines for new messages. A marker and the summary behind it are one line of this file. */
export function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return joinCompactions(messages, context, {
    compaction: compactionLine,
    marker: markerLine,
    message: messageLines,
  });
}

/** A line for each result, as the agent writes them. */
export function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map((result) => ({
    ...baseOf(context, `${result.callId}~result`, context.at),
    type: "message",
    message: newResult(result, context.at),
  }));
}

/** The lines with their chain of parents whole; in the first version of the file lines are named by their number. */
export function closeLines(lines: readonly unknown[], placed: readonly PlacedLine[]): readonly unknown[] {
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
  const { firstKeptEntryIndex, ...rest } = fields(line);
  const index = numberField(firstKeptEntryIndex);
  if (index === undefined) return line;
  const now = newIndexOf.get(index);
  if (now === index) return line;
  return now === undefined
    ? compact({ ...rest, firstKeptEntryId: keys[index] })
    : { ...rest, firstKeptEntryIndex: now };
}

/** A new line in a file whose lines have no ids. A compaction that names its own number keeps nothing from before. */
function withoutId(line: unknown, index: number): object {
  const { id: _, parentId: __, firstKeptEntryId, ...rest } = fields(line);
  return firstKeptEntryId === undefined ? rest : { ...rest, firstKeptEntryIndex: index };
}

function writeCompaction(line: Fields, pieces: readonly NextPiece[]): object {
  const parts = pieces.flatMap(({ now }) => (now.half === "whole" ? [now.part] : []));
  const marker = parts.find((part) => part.type === "compaction");
  const carryover = { ...fields(line.carryover), ...(marker === undefined && { marker: false }) };
  const kept = marker?.tailStartId === undefined ? {} : { firstKeptEntryId: marker.tailStartId };
  const isTree = line.firstKeptEntryIndex === undefined;
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return withSummary({ ...line, ...(isTree && kept), carryover }, texts);
}

/** A summary of several parts is one text in this file; where each ends is noted. */
function withSummary(line: Fields, texts: readonly string[]): Fields {
  const { lengths: _, ...own } = fields(line.carryover);
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
  const note = ownNote({ ...summary, parts }, marker === undefined ? 0 : 1);
  const asked = marker === undefined ? undefined : ownNote(marker);
  return withNote(withSummary(line, texts), bothNotes(asked, note));
}

/** A marker whose summary has not come is a compaction that says nothing yet. */
function markerLine(marker: Message, context: CreateContext): object {
  const carryover = { markerId: marker.id };
  const base = baseOf(context, marker.id, marker.createdAt);
  const line = { ...base, type: "compaction", summary: "", tokensBefore: 0, fromHook: true, carryover };
  return withNote(
    { ...line, firstKeptEntryId: markerPart(marker)?.tailStartId ?? marker.id },
    ownNote(marker),
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
  const line = withNote({ ...base, type: "message", message: body }, ownNote(message));
  return [line, ...answerLines(resultPieces(message.parts), context)];
}

function baseOf({ at }: CreateContext, id: string, createdAt: number | undefined): Fields {
  return compact({ id, parentId: null, timestamp: dateOf(createdAt ?? at) });
}

function textOf(pieces: readonly NextPiece[]): string {
  return pieces
    .flatMap(({ now }) => (now.half === "whole" && now.part.type === "text" ? [now.part.text] : []))
    .join(SUMMARY_GAP);
}
