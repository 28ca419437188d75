import { safeJson } from "../text/safe-json.ts";
import type { Handle } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, type Part, type ToolPart } from "../transcript/part.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import type { TextCleaner } from "./summary-clean-text.ts";

/** One readable piece of a message, cleaned once for everything that reads it. */
export interface Piece {
  readonly message: Message;
  readonly handle: Handle;
  readonly type: PieceType;
  /** The tool, where the piece is its input or its result. */
  readonly tool?: string;
  readonly text: string;
}

/** `typed` is what the user wrote, `program` what a program wrote in the user's name. */
export type PieceType =
  | "typed"
  | "program"
  | "assistant"
  | "tool-summary"
  | "other"
  | "input"
  | "output"
  | "error"
  | "no-result"
  | "file";

/** What the model can read of some messages, piece by piece. Reasoning, hidden and ignored parts say nothing. */
export function piecesOf(messages: Transcript, cleaner: TextCleaner): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const at = { message, handle: handleOf(message, partIndex) };
      for (const piece of readPart(message, part, cleaner)) pieces.push({ ...at, ...piece });
    }
  }
  return pieces;
}

type Found = Pick<Piece, "type" | "tool" | "text">;

function readPart(message: Message, part: Part, cleaner: TextCleaner): readonly Found[] {
  switch (part.type) {
    case "text": {
      if (part.ignored || part.own) return [];
      const type = textType(message, part.synthetic === true);
      const text = type === "typed" ? cleaner.typed(part.text) : cleaner.data(part.text);
      return text.trim() === "" ? [] : [{ type, text }];
    }
    case "tool":
      return readTool(part, cleaner);
    case "file":
      return [{ type: "file", text: fileLabel(part, cleaner) }];
    case "reasoning":
    case "compaction":
    case "opaque":
      return [];
    default:
      part satisfies never;
      return [];
  }
}

function textType({ role, metadata }: Message, synthetic: boolean): PieceType {
  if (metadata?.kind === "tool_summary") return "tool-summary";
  if (role === "assistant") return "assistant";
  if (role !== "user") return "other";
  return synthetic ? "program" : "typed";
}

function readTool(part: ToolPart, cleaner: TextCleaner): readonly Found[] {
  const tool = cleaner.line(part.tool, MAX_TOOL_NAME_CHARS);
  const input = part.input === undefined ? "" : cleaner.data(safeJson(part.input));
  const found: Found[] = part.callMissing ? [] : [{ type: "input", tool, text: input }];
  const { outcome } = part;
  if (outcome.status === "pending") return [...found, { type: "no-result", tool, text: "" }];
  if (isCleared(part)) return [...found, { type: "output", tool, text: CLEARED_PLACEHOLDER }];
  if (outcome.status === "failed") {
    return [...found, { type: "error", tool, text: cleaner.data(outcome.error) }];
  }
  return [
    ...found,
    { type: "output", tool, text: cleaner.data(outcome.output) },
    ...outcome.attachments.map((file) => ({ type: "file" as const, text: fileLabel(file, cleaner) })),
  ];
}

const MAX_TOOL_NAME_CHARS = 100;

function fileLabel({ mime, filename }: FilePart, cleaner: TextCleaner): string {
  return cleaner.line(filename === undefined ? mime : `${mime} ${filename}`, 200);
}
