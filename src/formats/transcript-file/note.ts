import { readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { MessageMetadata, ModelRef, Usage } from "../../transcript/message.ts";
import type { CompactionPart, Part, TextPart, ToolPart } from "../../transcript/part.ts";
import { compact, type Fields, fields, numberField, stringField } from "../fields.ts";
import type { MessageHead, Piece } from "./piece.ts";

/**
 * What an edit of ours leaves in a line under `carryover`, beside the message and never in it, since an agent sends
 * the blocks of a message to its provider as they are: notes on parts by their place, and what the line cannot say.
 */
export interface LineNote {
  readonly parts?: Readonly<Record<string, PartNote>>;
  /** By the reading of the line; what is noted here goes before what the line says. */
  readonly heads?: Readonly<Record<string, Partial<MessageHead>>>;
}

/** What a foreign block cannot say of a part. */
export type PartNote = Partial<
  Pick<ToolPart, "cut" | "inputCut"> &
    Pick<TextPart, "synthetic" | "ignored" | "own"> &
    Pick<CompactionPart, "trigger" | "overflow" | "tailStartId">
>;

/** The note in a line, without anything that has the wrong shape. */
export function readNote(line: unknown): LineNote | undefined {
  const { carryover } = fields(line);
  if (carryover === undefined) return undefined;
  const { parts, heads } = fields(carryover);
  return {
    parts: fields(parts) as LineNote["parts"] & object,
    heads: Object.fromEntries(
      Object.entries(fields(heads)).map(([key, head]) => [key, readHead(fields(head))]),
    ),
  };
}

/** The piece with its note in it. */
export function withPartNote(piece: Piece, note: unknown): Piece {
  if (note === undefined) return piece;
  const { cut, inputCut, synthetic, ignored, own } = fields(note);
  if (piece.half === "result") return { ...piece, ...compact({ cut: asCut(cut) }) };
  const { part } = piece;
  if (part.type === "tool") {
    return {
      ...piece,
      part: { ...part, ...compact({ cut: asCut(cut), inputCut: asCut(inputCut) }) },
    } as Piece;
  }
  if (part.type === "compaction")
    return { half: "whole", part: { ...part, ...compactionNote(fields(note)) } };
  if (part.type !== "text") return piece;
  const flags = compact({
    synthetic: synthetic === true ? true : undefined,
    ignored: ignored === true ? true : undefined,
    own: own === true ? true : undefined,
    cut: asCut(cut),
  });
  return { ...piece, part: { ...part, ...flags } } as Piece;
}

/** What must be noted of a part; undefined when its block says everything. */
export function partNote(part: Part): PartNote | undefined {
  if (part.type === "tool") return ifAny(compact({ cut: part.cut, inputCut: part.inputCut }));
  if (part.type === "compaction") {
    const { trigger, overflow, tailStartId } = part;
    return compact({ trigger, overflow, tailStartId });
  }
  if (part.type !== "text") return undefined;
  const { synthetic, ignored, own, cut } = part;
  return ifAny(compact({ synthetic, ignored, own, cut }));
}

/** The line with a note in it, or without one. */
export function withNote(line: object, note: LineNote): object {
  const { carryover, ...rest } = fields(line);
  const own = ifAny(compact({ ...fields(carryover), parts: filled(note.parts), heads: filled(note.heads) }));
  return own === undefined ? rest : { ...rest, carryover: own };
}

function compactionNote({ trigger, overflow, tailStartId }: Fields): Partial<CompactionPart> {
  return compact({
    trigger: trigger === "manual" ? ("manual" as const) : trigger === "auto" ? ("auto" as const) : undefined,
    overflow: overflow === true ? (true as const) : undefined,
    tailStartId: stringField(tailStartId),
  });
}

function filled<T extends object>(value: T | undefined): T | undefined {
  return value === undefined ? undefined : ifAny(value);
}

function ifAny<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function asCut(value: unknown): never {
  const isCut = typeof value === "object" && value !== null && typeof fields(value).omittedChars === "number";
  return (isCut ? value : undefined) as never;
}

function readHead(head: Fields): Partial<MessageHead> {
  const { error, model } = head;
  const { name, text } = fields(error);
  return compact({
    role: stringField(head.role),
    createdAt: numberField(head.createdAt),
    summary: head.summary === true ? (true as const) : undefined,
    finish: stringField(head.finish),
    error: typeof name === "string" && typeof text === "string" ? { name, text } : undefined,
    parentId: stringField(head.parentId),
    usage: readUsage(head.usage),
    model: readModel(model),
    metadata: readMetadata(head.metadata),
  });
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = fields(value);
  return compact({
    inputTokens: numberField(usage.inputTokens) ?? 0,
    outputTokens: numberField(usage.outputTokens) ?? 0,
    reasoningTokens: numberField(usage.reasoningTokens) ?? 0,
    cacheReadTokens: numberField(usage.cacheReadTokens) ?? 0,
    cacheWriteTokens: numberField(usage.cacheWriteTokens) ?? 0,
    totalTokens: numberField(usage.totalTokens),
  });
}

function readModel(value: unknown): ModelRef | undefined {
  const { provider, id } = fields(value);
  return typeof provider === "string" && typeof id === "string" ? { provider, id } : undefined;
}

function readMetadata(value: unknown): MessageMetadata | undefined {
  const { agentVisible, userVisible, kind, carried } = fields(value);
  return ifAny(
    compact({
      agentVisible: typeof agentVisible === "boolean" ? agentVisible : undefined,
      userVisible: typeof userVisible === "boolean" ? userVisible : undefined,
      kind: stringField(kind),
      carried: readCarriedFacts(carried),
    }),
  );
}
