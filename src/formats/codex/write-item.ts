import { outcomeText, type Part } from "../../transcript/part.ts";
import { writeResultContent } from "../blocks/result-content.ts";
import { textFor } from "../blocks/write-text.ts";
import { type Fields, fields } from "../fields.ts";
import { type NextPiece, type Piece, type ResultPiece, resultPart } from "../transcript-file/piece.ts";
import { OUTPUT_SHAPE } from "./read-item.ts";

/** An item with other pieces. One whose only piece became something else is an item of that other kind. */
export function writeItem(item: Fields, pieces: readonly NextPiece[]): Fields {
  if (item.type === "message") return { ...item, content: writeContent(item.content, pieces, roleOf(item)) };
  const [only] = pieces;
  if (only === undefined || only.now === only.was) return item;
  const { was, now } = only;
  if (now.half === "result") {
    return was.half === "result" ? changedOutput(item, now, was) : newOutput(now);
  }
  if (now.half === "call" && was.half === "call") return changedCall(item, now);
  const { part } = now;
  if (part.type === "reasoning" && item.type === "reasoning") {
    // What is encrypted says the old text.
    const { content: _, ...rest } = item;
    return { ...rest, summary: [{ type: "summary_text", text: part.text }], encrypted_content: null };
  }
  return newMessage(was.half === "result" ? "user" : "assistant", [part]);
}

/** The content of a message with other pieces; unchanged blocks are the same references. */
export function writeContent(content: unknown, pieces: readonly NextPiece[], role: string): unknown {
  const blocks: readonly unknown[] = Array.isArray(content)
    ? content
    : [{ type: textType(role), text: content }];
  return pieces.map(({ index, was, now }) => {
    const block = blocks[index];
    if (now === was && block !== undefined) return block;
    const text = textOfPiece(now);
    const isText = was.half === "whole" && was.part.type === "text";
    return isText ? { ...fields(block), text } : { type: textType(role), text };
  });
}

/** A message item for parts that no line held. */
export function newMessage(role: string, parts: readonly Part[]): Fields {
  const content = parts.map((part) => ({ type: textType(role), text: textOfPiece({ half: "whole", part }) }));
  return { type: "message", role, content };
}

/** A call item for a part that no line held. */
export function newCall(part: Extract<Part, { type: "tool" }>): Fields {
  return { type: "function_call", name: part.tool, arguments: argumentsOf(part.input), call_id: part.callId };
}

/** An output item for a result that no line held. */
export function newOutput({ callId, outcome }: ResultPiece): Fields {
  return { type: "function_call_output", call_id: callId, output: outcomeText(outcome) };
}

function changedOutput(item: Fields, now: ResultPiece, was: ResultPiece): Fields {
  const { content } = fields(item.output);
  if (typeof content === "string") {
    return { ...item, output: { ...fields(item.output), content: outcomeText(now.outcome) } };
  }
  const before = resultPart(was);
  return {
    ...item,
    output: writeResultContent(resultPart(now), { before, content: item.output, shape: OUTPUT_SHAPE }),
  };
}

function changedCall(item: Fields, { part }: Extract<Piece, { half: "call" }>): Fields {
  if (item.type === "function_call") return { ...item, name: part.tool, arguments: argumentsOf(part.input) };
  if (item.type === "custom_tool_call") {
    return {
      ...item,
      name: part.tool,
      input: typeof part.input === "string" ? part.input : argumentsOf(part.input),
    };
  }
  return { ...item, action: part.input };
}

function argumentsOf(input: unknown): string {
  return typeof input === "string" ? input : (JSON.stringify(input ?? {}) ?? "{}");
}

function textOfPiece(piece: Piece): string {
  if (piece.half === "result") return outcomeText(piece.outcome);
  const { part } = piece;
  if (part.type === "reasoning") return part.text;
  return part.type === "tool" ? outcomeText(part.outcome) : (textFor(part) ?? "");
}

function textType(role: string): string {
  return role === "assistant" ? "output_text" : "input_text";
}

function roleOf({ role }: Fields): string {
  return typeof role === "string" ? role : "user";
}
