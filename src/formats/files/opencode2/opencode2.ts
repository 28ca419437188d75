import { asArray, asObject, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import type { Part, ToolPart } from "../../../transcript/part.ts";
import { writeResultContent } from "../../content/result-content.ts";
import { markerNote, markerPart, writeCompactions } from "../../lines/compaction-lines.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import type { CreateContext, NextPiece, PlacedLine } from "../../lines/line-format.ts";
import { noteOfMessage, withNote } from "../../lines/line-note.ts";
import { partText, pieceText, textsOf, withTexts } from "../../lines/pieces.ts";
import { RESULT_SHAPE, readOpencode2Lines, readUser } from "./read-opencode2-lines.ts";

/** The messages of an OpenCode 2 session as they are stored, or what `opencode export` writes. */
export type Opencode2Wire =
  | readonly unknown[]
  | { readonly messages?: unknown; readonly [field: string]: unknown };

/** OpenCode 2's stored sessions. */
export const opencode2: Format<Opencode2Wire> = /* @__PURE__ */ createLineFormat<Opencode2Wire>({
  name: "opencode2",
  open: (wire) => asArray(isList(wire) ? wire : asObject(wire).messages),
  read: readOpencode2Lines,
  write: writeLine,
  create: (messages, context) =>
    writeCompactions(messages, context, {
      compaction: compactionLine,
      marker: markerLine,
      message: messageLine,
    }),
  // Its calls hold their results.
  answer: () => [],
  close(wire, placed) {
    const messages = placed.map(({ line }: PlacedLine) => line);
    return isList(wire) ? messages : { ...wire, messages };
  },
});

function isList(wire: Opencode2Wire): wire is readonly unknown[] {
  return Array.isArray(wire);
}

/** A stored message with other pieces. */
function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const message = asObject(line);
  switch (message.type) {
    case "user":
      return writeUser(message, pieces);
    case "assistant":
      return { ...message, content: writeContents(asArray(message.content), pieces) };
    case "compaction":
      return writeCompaction(message, pieces);
    case "shell": {
      const { shellID: _, command: __, status: ___, exit: ____, output: _____, ...rest } = message;
      return withTexts(
        { ...rest, type: "synthetic" },
        "text",
        pieces.map(({ now }) => pieceText(now)),
      );
    }
    default:
      return withTexts(
        message,
        "text",
        pieces.map(({ now }) => pieceText(now)),
      );
  }
}

/** A user's message: texts that are left or new in its text, skills and files where they were. */
function writeUser(message: UnknownObject, pieces: readonly NextPiece[]): object {
  const fields = readUser(message);
  const lists = { skills: asArray(message.skills), files: asArray(message.files) };
  const written: { readonly from: "skills" | "text" | "files"; readonly value: unknown }[] = pieces.map(
    ({ index, was, now }) => {
      const field = fields[index];
      return now === was && field !== undefined && field.from !== "text"
        ? { from: field.from, value: lists[field.from][field.place] }
        : { from: "text", value: pieceText(now) };
    },
  );
  const of = (from: "skills" | "text" | "files"): readonly unknown[] =>
    written.filter((each) => each.from === from).map(({ value }) => value);
  const stored = [...written].sort((one, other) => RANK[one.from] - RANK[other.from]);
  const order = written.map((each) => stored.indexOf(each));
  const { order: _, ...own } = asObject(message.carryover);
  const isStored = order.every((place, index) => place === index);
  const next = omitUndefined({
    ...message,
    skills: message.skills === undefined ? undefined : of("skills"),
    files: message.files === undefined ? undefined : of("files"),
    carryover: isStored ? own : { ...own, order },
  });
  return withTexts(next, "text", of("text").map(String));
}

const RANK = { skills: 0, text: 1, files: 2 } as const;

function writeContents(content: readonly unknown[], pieces: readonly NextPiece[]): readonly unknown[] {
  return pieces.map(({ index, was, now }) => {
    const value = content[index];
    if (now === was && value !== undefined) return value;
    const part: Part = now.half === "result" ? { type: "text", text: pieceText(now) } : now.part;
    const before = was.half === "whole" ? was.part : undefined;
    return writePart(part, asObject(value), before);
  });
}

function writePart(part: Part, value: UnknownObject, before: Part | undefined): UnknownObject {
  const kept = before?.type === part.type ? value : {};
  if (part.type === "reasoning") return { ...kept, type: "reasoning", text: part.text };
  return part.type === "tool"
    ? writeTool(part, kept, before)
    : { ...kept, type: "text", text: partText(part) };
}

/** A call with another input or outcome. */
function writeTool(part: ToolPart, value: UnknownObject, before: Part | undefined): UnknownObject {
  const { callId, tool, input, outcome } = part;
  const { content, error: _, ...state } = asObject(value.state);
  const time = value.time ?? { created: 0 };
  const call = { ...value, type: "tool", id: callId, name: tool, time };
  if (outcome.status === "pending")
    return { ...call, state: { metadata: {}, ...state, status: "running", input: input ?? {} } };
  if (outcome.status === "failed") {
    const error = { type: "unknown", message: outcome.error };
    return { ...call, state: { ...state, status: "error", input: input ?? {}, error } };
  }
  const isKept = before?.type === "tool" && before.outcome === outcome && Array.isArray(content);
  const written = isKept
    ? content
    : writeResultContent(part, { before, content: asArray(content), shape: RESULT_SHAPE });
  // A list without an entry is no result to the host.
  const list =
    typeof written === "string" || written.length === 0
      ? [{ type: "text", text: outcomeText(outcome) }]
      : written;
  return { ...call, state: { ...state, status: "completed", input: input ?? {}, content: list } };
}

function writeCompaction(message: UnknownObject, pieces: readonly NextPiece[]): object {
  const isMarked = pieces.some(({ now }) => now.half === "whole" && now.part.type === "compaction");
  const carryover = { ...asObject(message.carryover), ...(!isMarked && { marker: false }) };
  return withTexts({ ...message, recent: "", carryover }, "summary", textsOf(pieces));
}

function compactionLine(
  marker: Message | undefined,
  summary: Message,
  context: CreateContext,
): UnknownObject {
  const reason = (marker && markerPart(marker)?.trigger) ?? "auto";
  const line = {
    ...baseOf(summary, context),
    type: "compaction",
    status: "completed",
    reason,
    recent: "",
    carryover: markerNote(marker),
  };
  return withTexts(line, "summary", summary.parts.map(partText));
}

/** A marker whose summary has not come is a compaction that runs. */
function markerLine(marker: Message, context: CreateContext): object {
  const line = {
    ...baseOf(marker, context),
    type: "compaction",
    status: "running",
    reason: markerPart(marker)?.trigger ?? "auto",
    summary: "",
    recent: "",
    carryover: { markerId: marker.id },
  };
  return withNote(line, noteOfMessage(marker));
}

function messageLine(message: Message, context: CreateContext): readonly object[] {
  const { role, parts, model, finish } = message;
  const base = baseOf(message, context);
  if (role === "assistant") {
    const line = {
      ...base,
      type: "assistant",
      agent: "build",
      model: { id: model?.id ?? "unknown", providerID: model?.provider ?? "unknown" },
      content: parts.map((part) => writePart(part, {}, undefined)),
      finish: finish ?? "stop",
    };
    return [withNote(line, noteOfMessage(message))];
  }
  const type = role === "system" ? "system" : "synthetic";
  return [withNote(withTexts({ ...base, type }, "text", parts.map(partText)), noteOfMessage(message))];
}

function baseOf({ id, createdAt }: Message, { at }: CreateContext): UnknownObject {
  return { id, time: { created: createdAt ?? at } };
}
