import { asArray, asObject, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import type { Part, ToolPart } from "../../../transcript/part.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import {
  type CreateContext,
  dateOf,
  type LinePiece,
  type NextPiece,
  type PlacedLine,
} from "../../lines/line-format.ts";
import { noteOfMessage, visibleMessage, withNote } from "../../lines/line-note.ts";
import { partText, writeContent } from "../../lines/pieces.ts";
import { readContent, readGeminiLines } from "./read-gemini-lines.ts";

/** A Gemini CLI session: the one record that older versions write, or the lines of newer ones, each parsed. */
export type GeminiCliWire =
  | readonly unknown[]
  | { readonly messages?: unknown; readonly [field: string]: unknown };

/** Gemini CLI's session files. */
export const geminiCli: Format<GeminiCliWire> = /* @__PURE__ */ createLineFormat<GeminiCliWire>({
  name: "gemini-cli",
  open,
  read: readGeminiLines,
  write: writeLine,
  create: createLines,
  // Its calls hold their results.
  answer: () => [],
  close,
});

function open(wire: GeminiCliWire): readonly unknown[] {
  if (!isLines(wire)) return asArray(asObject(wire).messages);
  const checkpoint = checkpointOf(wire);
  return checkpoint === undefined ? wire : [...checkpoint.messages, ...wire.slice(checkpoint.index + 1)];
}

function close(wire: GeminiCliWire, placed: readonly PlacedLine[]): GeminiCliWire {
  if (!isLines(wire)) return { ...wire, messages: placed.map(({ line }) => line) };
  const checkpoint = checkpointOf(wire);
  if (checkpoint === undefined) return placed.map(({ line }) => line);
  const { index, line, messages } = checkpoint;
  const firstBehind = placed.findIndex(({ origin }) => origin >= messages.length);
  const count = firstBehind === -1 ? placed.length : firstBehind;
  const inside = placed.slice(0, count).map((each) => each.line);
  const set = { ...line, $set: { ...asObject(line.$set), messages: inside } };
  return [...wire.slice(0, index), set, ...placed.slice(count).map((each) => each.line)];
}

interface Checkpoint {
  readonly index: number;
  readonly line: UnknownObject;
  readonly messages: readonly unknown[];
}

/** The newest line that replaces all messages: nothing before it counts. */
function checkpointOf(lines: readonly unknown[]): Checkpoint | undefined {
  const index = lines.findLastIndex((line) => Array.isArray(asObject(asObject(line).$set).messages));
  if (index === -1) return undefined;
  const line = asObject(lines[index]);
  return { index, line, messages: asArray(asObject(line.$set).messages) };
}

function isLines(wire: GeminiCliWire): wire is readonly unknown[] {
  return Array.isArray(wire);
}

/** A record with other pieces, each in the list that it came from. */
function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const record = asObject(line);
  const thoughts = asArray(record.thoughts);
  const calls = asArray(record.toolCalls);
  const contentCount = readContent(record.content).length;
  const nextThoughts: unknown[] = [];
  const nextCalls: unknown[] = [];
  const contentPieces: NextPiece[] = [];
  for (const piece of pieces) {
    const { index, was, now } = piece;
    const part = now.half === "result" ? undefined : now.part;
    const callIndex = index - thoughts.length - contentCount;
    if (index < thoughts.length && part?.type === "reasoning") {
      nextThoughts.push(now === was ? thoughts[index] : writeThought(thoughts[index], part.text));
    } else if (part?.type === "tool" && callIndex >= 0) {
      nextCalls.push(now === was ? calls[callIndex] : changedCall(part, was, asObject(calls[callIndex])));
    } else contentPieces.push({ ...piece, index: index - thoughts.length });
  }
  return {
    ...record,
    ...(record.thoughts === undefined ? {} : { thoughts: nextThoughts }),
    content: writeParts(record.content, contentPieces),
    ...(record.toolCalls === undefined ? {} : { toolCalls: nextCalls }),
  };
}

/** Records for new messages. */
function createLines(messages: readonly Message[], { at }: CreateContext): readonly object[] {
  return messages.map(visibleMessage).map((message) => {
    const isAssistant = message.role === "assistant";
    const thoughts = message.parts.filter((part) => part.type === "reasoning");
    const calls = message.parts.filter((part) => part.type === "tool");
    const content = message.parts.filter((part) => part.type !== "reasoning" && part.type !== "tool");
    // The record keeps thoughts, content and calls apart: that is the order in which it is read again.
    const parts: readonly Part[] = isAssistant ? [...thoughts, ...content, ...calls] : message.parts;
    const record = omitUndefined({
      id: message.id,
      timestamp: dateOf(message.createdAt ?? at),
      type: isAssistant ? "gemini" : "user",
      content: (isAssistant ? content : message.parts).map(newPart),
      thoughts:
        isAssistant && thoughts.length > 0 ? thoughts.map(({ text }) => writeThought({}, text)) : undefined,
      toolCalls: isAssistant && calls.length > 0 ? calls.map((call) => writeCall(call, {})) : undefined,
      model: isAssistant ? message.model?.id : undefined,
    });
    return withNote(record, noteOfMessage({ ...message, parts }));
  });
}

/** The content of a record: a text, one part, a list of parts, or nothing. */
function writeParts(content: unknown, pieces: readonly NextPiece[]): unknown {
  const isText = typeof content === "string";
  if (pieces.length === 0) return isText ? "" : content === undefined || content === null ? content : [];
  return writeContent(isText || Array.isArray(content) ? content : [content], pieces, ({ now }, block) => {
    const part: Part = now.half === "result" ? { type: "opaque", name: "result" } : now.part;
    return part.type === "text" && typeof block.text === "string"
      ? { ...block, text: part.text }
      : newPart(part);
  });
}

function newPart(part: Part): UnknownObject {
  if (part.type === "reasoning") return { text: part.text, thought: true };
  return { text: partText(part) };
}

function writeThought(thought: unknown, text: string): UnknownObject {
  const gap = text.indexOf("\n");
  const [subject, description] = gap === -1 ? [text, undefined] : [text.slice(0, gap), text.slice(gap + 1)];
  const { subject: _, description: __, ...rest } = asObject(thought);
  return omitUndefined({ ...rest, subject, description });
}

/** A call with other content, or only with another id. */
function changedCall(part: ToolPart, was: LinePiece, call: UnknownObject): UnknownObject {
  const old = was.half === "whole" && was.part.type === "tool" ? was.part : undefined;
  const isOnlyRenamed = part.input === old?.input && part.tool === old?.tool && part.outcome === old?.outcome;
  if (!isOnlyRenamed) return writeCall(part, call);
  const result = Array.isArray(call.result)
    ? call.result.map((each) => withResponseId(each, part.callId))
    : call.result;
  return omitUndefined({ ...call, id: part.callId, result });
}

function withResponseId(value: unknown, id: string): unknown {
  const { functionResponse } = asObject(value);
  return functionResponse === undefined
    ? value
    : { ...asObject(value), functionResponse: { ...asObject(functionResponse), id } };
}

/** A call with another input or outcome. The agent's own copy of an output for its screen is dropped. */
function writeCall(part: ToolPart, call: UnknownObject): UnknownObject {
  const { resultDisplay: _, ...rest } = call;
  const { outcome } = part;
  const named = { ...rest, id: part.callId, name: part.tool, args: part.input };
  if (outcome.status === "pending") return named;
  const text = outcomeText(outcome);
  const response = outcome.status === "failed" ? { error: text } : { output: text };
  const functionResponse = { id: part.callId, name: part.tool, response };
  const kept = outcome.status === "done" && outcome.attachments.length > 0 ? filesOf(call.result) : [];
  return {
    ...named,
    result: [{ functionResponse }, ...kept],
    status: outcome.status === "failed" ? "error" : "success",
  };
}

function filesOf(result: unknown): readonly unknown[] {
  return asArray(result).filter((part) => {
    const { inlineData, fileData } = asObject(part);
    return inlineData !== undefined || fileData !== undefined;
  });
}
