import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { outcomeText } from "../../transcript/content.ts";
import type { CallId, Part, ToolPart } from "../../transcript/part.ts";
import { writeArguments } from "../content/call-arguments.ts";
import { textFor } from "../content/text-blocks.ts";
import type { CallPiece, LinePiece, NextPiece, ResultPiece } from "./line-format.ts";

/** A part as one piece. */
export function wholePiece(part: Part): LinePiece {
  return { half: "whole", part };
}

/** A part that is kept without being understood, named after its type. */
export function opaquePiece(type: unknown): LinePiece {
  return wholePiece({ type: "opaque", name: asString(type) ?? "unknown" });
}

/** A text that no person typed. */
export function syntheticText(text: string): LinePiece {
  return wholePiece({ type: "text", text, synthetic: true });
}

/** The same piece; a text in it marked as one that no person typed. */
export function asSynthetic(piece: LinePiece): LinePiece {
  if (piece.half !== "whole" || piece.part.type !== "text") return piece;
  return wholePiece({ ...piece.part, synthetic: true });
}

/** A call, whose result is in another place. */
export function callPiece(
  callId: CallId,
  tool: unknown,
  input: unknown,
  more: Pick<ToolPart, "signed"> = {},
): CallPiece {
  const outcome = { status: "pending" } as const;
  const name = asString(tool) ?? "unknown";
  return { half: "call", part: { type: "tool", callId, tool: name, input, outcome, ...more } };
}

/** The tool part of a result without its call. */
export function resultPart({ callId, tool, outcome }: ResultPiece): ToolPart {
  return { type: "tool", callId, tool: tool ?? "unknown", input: undefined, outcome };
}

/** The results of a message's finished calls. */
export function resultPieces(parts: readonly Part[]): readonly ResultPiece[] {
  return parts.flatMap((part): readonly ResultPiece[] => {
    if (part.type !== "tool" || part.outcome.status === "pending") return [];
    const { callId, tool, outcome } = part;
    return [{ half: "result", callId, tool, outcome }];
  });
}

/** What a piece says, for a file that can hold only text in its place. */
export function pieceText(piece: LinePiece): string {
  if (piece.half === "result") return outcomeText(piece.outcome);
  return partText(piece.part);
}

/** What a part says, for a file that can hold only text in its place. */
export function partText(part: Part): string {
  if (part.type === "reasoning") return part.text;
  return part.type === "tool" ? outcomeText(part.outcome) : (textFor(part) ?? "");
}

/** The texts among some pieces. */
export function textsOf(pieces: readonly NextPiece[]): readonly string[] {
  return pieces.flatMap(({ now }) =>
    now.half === "whole" && now.part.type === "text" ? [now.part.text] : [],
  );
}

/** A line in which some texts are one field; where each of several ends is noted. */
export function withTexts(line: UnknownObject, field: string, texts: readonly string[]): UnknownObject {
  const { lengths: _, ...own } = asObject(line.carryover);
  const isNoted = texts.length > 1 || texts.includes("");
  const carryover = isNoted ? { ...own, lengths: texts.map((text) => text.length) } : own;
  return { ...line, [field]: texts.join(TEXT_GAP), carryover };
}

/** The texts that a field holds. */
export function splitTexts(line: UnknownObject, field: string): readonly string[] {
  const text = asString(line[field]) ?? "";
  const found: string[] = [];
  let start = 0;
  for (const length of asArray(asObject(line.carryover).lengths)) {
    if (typeof length !== "number" || length < 0 || start + length > text.length) break;
    found.push(text.slice(start, start + length));
    start += length + TEXT_GAP.length;
  }
  if (found.length > 0 && start === text.length + TEXT_GAP.length) return found;
  return text === "" ? [] : [text];
}

/** Between texts that are kept as one. */
export const TEXT_GAP = "\n\n";

/** The content of a message with other pieces: a text stays a text, unchanged blocks are the same references. */
export function writeContent(
  content: unknown,
  pieces: readonly NextPiece[],
  write: (piece: NextPiece, block: UnknownObject) => UnknownObject | undefined,
): unknown {
  const isText = typeof content === "string";
  const [only, ...others] = pieces;
  if (isText && others.length === 0 && only?.now.half === "whole" && only.now.part.type === "text") {
    return only.now.part.text;
  }
  const blocks = isText ? [{ type: "text", text: content }] : asArray(content);
  return pieces.flatMap((piece) => {
    const block = blocks[piece.index];
    if (piece.now === piece.was && block !== undefined) return [block];
    return write(piece, asObject(block)) ?? [];
  });
}

/** The arguments of a call as the text in which files keep them; what is a text already is not quoted again. */
export function argumentsText(input: unknown): string {
  return typeof input === "string" ? input : writeArguments(input);
}
