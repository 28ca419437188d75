import type { Message } from "../../transcript/message.ts";
import { outcomeText, type ToolPart } from "../../transcript/part.ts";
import { textFor } from "../blocks/write-text.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { withNote } from "../transcript-file/note.ts";
import { ownNote, shownMessage } from "../transcript-file/own-note.ts";
import {
  type CreateContext,
  type NextPiece,
  type ResultPiece,
  resultPieces,
} from "../transcript-file/piece.ts";
import { isStep, textPieces } from "./read-lines.ts";

/** An entry of the history with other pieces. */
export function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const entry = fields(line);
  if (isStep(entry)) return writeStep(entry, pieces);
  const [only] = pieces;
  if (only?.now.half === "result") return { ...entry, content: outcomeText(only.now.outcome) };
  if (entry.role === "assistant") return writeAction(entry, pieces);
  if (only?.was.half === "result") {
    const { tool_call_ids: _, ...rest } = entry;
    return { ...rest, role: "user", content: textOf(pieces) };
  }
  const blocks = Array.isArray(entry.content) ? entry.content : undefined;
  if (blocks === undefined) return { ...entry, content: textOf(pieces) };
  return {
    ...entry,
    content: pieces.map(({ index, was, now }) =>
      now === was ? blocks[index] : { type: "text", text: textOfPiece(now) },
    ),
  };
}

function writeStep(step: Fields, pieces: readonly NextPiece[]): object {
  const parts = pieces.flatMap(({ now }) => (now.half === "whole" ? [now.part] : []));
  const call = parts.find((part) => part.type === "tool");
  const thought = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
  const carryover = { ...fields(step.carryover), ...(call && { callId: call.callId }) };
  const action = call === undefined ? "" : commandOf(call);
  const observation = call === undefined ? "" : outcomeText(call.outcome);
  return { ...step, thought, action, observation, response: thought, carryover };
}

/** An action's content is what it thought and, in histories without named calls, the action itself. */
function writeAction(entry: Fields, pieces: readonly NextPiece[]): object {
  const calls = pieces.flatMap(({ index, was, now }) =>
    now.half === "call" ? [{ was, now, part: now.part, index }] : [],
  );
  const texts = pieces.filter(({ now }) => now.half !== "call");
  const isTextSame = texts.every(({ was, now }) => was === now) && texts.length > 0;
  const thought = isTextSame ? stringField(entry.thought) : textOf(texts);
  const { action: _, tool_calls: __, thought: ___, ...rest } = entry;
  const named = Array.isArray(entry.tool_calls) ? entry.tool_calls : undefined;
  const [first] = calls;
  if (first === undefined) return { ...rest, content: textOf(texts) };
  const action = first.was === first.now ? stringField(entry.action) : commandOf(first.part);
  if (named === undefined) {
    const carryover = { ...fields(entry.carryover), callId: first.part.callId };
    const content = `${thought ?? ""}\n\`\`\`\n${action ?? ""}\n\`\`\``;
    return { ...rest, thought: thought ?? "", action, content, carryover };
  }
  const firstCall = textPieces(entry).length;
  const kept = calls.map(({ was, now, part, index }) => {
    const before: unknown = named[index - firstCall];
    // Ids are repeated across steps, and a result names its call as the file does.
    return was === now ? before : { ...fields(before), function: calledOf(part) };
  });
  return compact({ ...rest, content: thought ?? "", thought: thought ?? "", action, tool_calls: kept });
}

/** Entries for new messages. */
export function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return messages.map(shownMessage).flatMap((message) => {
    const calls = message.parts.filter((part) => part.type === "tool");
    const texts = message.parts.filter((part) => part.type !== "tool");
    const content = texts.map((part) => textOfPiece({ half: "whole", part }));
    const entry = compact({
      role: message.role === "assistant" || message.role === "system" ? message.role : "user",
      content: content.length === 1 ? content[0] : content.map((text) => ({ type: "text", text })),
      tool_calls:
        calls.length === 0
          ? undefined
          : calls.map((part) => ({ id: part.callId, type: "function", function: calledOf(part) })),
      agent: agentOf(context),
    });
    const note = ownNote({ ...message, parts: [...texts, ...calls] });
    return [withNote(entry, note), ...answerLines(resultPieces(calls), context)];
  });
}

/** An observation for each result. */
export function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map(({ callId, outcome }) => ({
    role: "tool",
    content: outcomeText(outcome),
    agent: agentOf(context),
    message_type: "observation",
    tool_call_ids: [callId],
  }));
}

function agentOf({ lines }: CreateContext): string {
  for (const line of lines) {
    const agent = stringField(fields(line).agent);
    if (agent !== undefined) return agent;
  }
  return "main";
}

function calledOf({ tool, input }: ToolPart): Fields {
  return { name: tool, arguments: typeof input === "string" ? input : (JSON.stringify(input ?? {}) ?? "{}") };
}

function commandOf({ input }: ToolPart): string {
  return stringField(fields(input).command) ?? JSON.stringify(input ?? {});
}

function textOf(pieces: readonly NextPiece[]): string {
  return pieces.map(({ now }) => textOfPiece(now)).join("\n\n");
}

function textOfPiece(piece: NextPiece["now"]): string {
  if (piece.half === "result") return outcomeText(piece.outcome);
  const { part } = piece;
  if (part.type === "reasoning") return part.text;
  return part.type === "tool" ? outcomeText(part.outcome) : (textFor(part) ?? "");
}
