import type { Message } from "../../transcript/message.ts";
import { outcomeText, type Part, type ToolPart } from "../../transcript/part.ts";
import { textFor } from "../blocks/write-text.ts";
import { compact, type Fields, fields } from "../fields.ts";
import { withNote } from "../transcript-file/note.ts";
import { ownNote, shownMessage } from "../transcript-file/own-note.ts";
import type { CreateContext, NextPiece } from "../transcript-file/piece.ts";
import { dateOf } from "../transcript-file/time-of.ts";
import { readContent } from "./read-lines.ts";

/** A record with other pieces, each in the list that it came from. */
export function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const record = fields(line);
  const thoughts = list(record.thoughts);
  const calls = list(record.toolCalls);
  const contentCount = readContent(record.content).length;
  const next: { thoughts: unknown[]; content: NextPiece[]; calls: unknown[] } = {
    thoughts: [],
    content: [],
    calls: [],
  };
  for (const piece of pieces) {
    const { index, was, now } = piece;
    const part = now.half === "result" ? undefined : now.part;
    const callIndex = index - thoughts.length - contentCount;
    if (index < thoughts.length && part?.type === "reasoning") {
      next.thoughts.push(now === was ? thoughts[index] : writeThought(thoughts[index], part.text));
    } else if (part?.type === "tool" && callIndex >= 0) {
      next.calls.push(now === was ? calls[callIndex] : writeCall(part, fields(calls[callIndex])));
    } else next.content.push(piece);
  }
  return {
    ...record,
    ...(record.thoughts === undefined ? {} : { thoughts: next.thoughts }),
    content: writeContent(record.content, next.content, thoughts.length),
    ...(record.toolCalls === undefined ? {} : { toolCalls: next.calls }),
  };
}

/** Records for new messages. */
export function createLines(messages: readonly Message[], { at }: CreateContext): readonly object[] {
  return messages.map(shownMessage).map((message) => {
    const isAssistant = message.role === "assistant";
    const thoughts = message.parts.filter((part) => part.type === "reasoning");
    const calls = message.parts.filter((part) => part.type === "tool");
    const content = message.parts.filter((part) => part.type !== "reasoning" && part.type !== "tool");
    // The record keeps thoughts, content and calls apart: that is the order in which it is read again.
    const parts: readonly Part[] = isAssistant ? [...thoughts, ...content, ...calls] : message.parts;
    const record = compact({
      id: message.id,
      timestamp: dateOf(message.createdAt ?? at),
      type: isAssistant ? "gemini" : "user",
      content: (isAssistant ? content : message.parts).map(newPart),
      thoughts:
        isAssistant && thoughts.length > 0 ? thoughts.map(({ text }) => writeThought({}, text)) : undefined,
      toolCalls: isAssistant && calls.length > 0 ? calls.map((call) => writeCall(call, {})) : undefined,
      model: isAssistant ? message.model?.id : undefined,
    });
    return withNote(record, ownNote({ ...message, parts }));
  });
}

function writeContent(content: unknown, pieces: readonly NextPiece[], firstIndex: number): unknown {
  const blocks = Array.isArray(content) ? content : [content];
  const isText = typeof content === "string";
  if (pieces.length === 0) return isText || content === undefined || content === null ? content && "" : [];
  const [only] = pieces;
  if (isText && pieces.length === 1 && only?.now.half === "whole" && only.now.part.type === "text") {
    return only.now.part.text;
  }
  return pieces.map(({ index, was, now }) => {
    const block: unknown = blocks[index - firstIndex];
    if (now === was && block !== undefined) return block;
    const part: Part = now.half === "result" ? { type: "opaque", name: "result" } : now.part;
    return part.type === "text" && typeof fields(block).text === "string"
      ? { ...fields(block), text: part.text }
      : newPart(part);
  });
}

function newPart(part: Part): Fields {
  if (part.type === "reasoning") return { text: part.text, thought: true };
  return { text: part.type === "tool" ? outcomeText(part.outcome) : (textFor(part) ?? "") };
}

function writeThought(thought: unknown, text: string): Fields {
  const gap = text.indexOf("\n");
  const [subject, description] = gap === -1 ? [text, undefined] : [text.slice(0, gap), text.slice(gap + 1)];
  const { subject: _, description: __, ...rest } = fields(thought);
  return compact({ ...rest, subject, description });
}

/** A call with another input or outcome. What the agent keeps of an output for its screen leaves with the output. */
function writeCall(part: ToolPart, call: Fields): Fields {
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
  return list(result).filter((part) => {
    const { inlineData, fileData } = fields(part);
    return inlineData !== undefined || fileData !== undefined;
  });
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
