import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../text/json.ts";
import { readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { MessageMetadata, ModelRef, Usage } from "../../transcript/message.ts";
import type { CompactionPart, Part, TextPart, ToolPart } from "../../transcript/part.ts";
import type { LinePiece, MessageHead } from "./line-format.ts";

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
  const { carryover } = asObject(line);
  if (carryover === undefined) return undefined;
  const { parts, heads } = asObject(carryover);
  return {
    parts: asObject(parts) as LineNote["parts"] & object,
    heads: Object.fromEntries(
      Object.entries(asObject(heads)).map(([key, head]) => [key, readHead(asObject(head))]),
    ),
  };
}

/** The piece with its note in it. */
export function withPartNote(piece: LinePiece, note: unknown): LinePiece {
  if (note === undefined) return piece;
  const { cut, inputCut, synthetic, ignored, own } = asObject(note);
  if (piece.half === "result") return { ...piece, ...omitUndefined({ cut: asCut(cut) }) };
  const { part } = piece;
  if (part.type === "tool") {
    return {
      ...piece,
      part: { ...part, ...omitUndefined({ cut: asCut(cut), inputCut: asCut(inputCut) }) },
    } as LinePiece;
  }
  if (part.type === "compaction")
    return { half: "whole", part: { ...part, ...compactionNote(asObject(note)) } };
  if (part.type !== "text") return piece;
  const flags = omitUndefined({
    synthetic: synthetic === true ? true : undefined,
    ignored: ignored === true ? true : undefined,
    own: own === true ? true : undefined,
    cut: asCut(cut),
  });
  return { ...piece, part: { ...part, ...flags } } as LinePiece;
}

/** What must be noted of a part; undefined when its block says everything. */
export function partNote(part: Part): PartNote | undefined {
  if (part.type === "tool") return ifAny(omitUndefined({ cut: part.cut, inputCut: part.inputCut }));
  if (part.type === "compaction") {
    const { trigger, overflow, tailStartId } = part;
    return omitUndefined({ trigger, overflow, tailStartId });
  }
  if (part.type !== "text") return undefined;
  const { synthetic, ignored, own, cut } = part;
  return ifAny(omitUndefined({ synthetic, ignored, own, cut }));
}

/** The line with a note in it, or without one. */
export function withNote(line: object, note: LineNote): object {
  const { carryover, ...rest } = asObject(line);
  const own = ifAny(
    omitUndefined({ ...asObject(carryover), parts: filled(note.parts), heads: filled(note.heads) }),
  );
  return own === undefined ? rest : { ...rest, carryover: own };
}

function compactionNote({ trigger, overflow, tailStartId }: UnknownObject): Partial<CompactionPart> {
  return omitUndefined({
    trigger: trigger === "manual" ? ("manual" as const) : trigger === "auto" ? ("auto" as const) : undefined,
    overflow: overflow === true ? (true as const) : undefined,
    tailStartId: asString(tailStartId),
  });
}

function filled<T extends object>(value: T | undefined): T | undefined {
  return value === undefined ? undefined : ifAny(value);
}

function ifAny<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function asCut(value: unknown): never {
  const isCut =
    typeof value === "object" && value !== null && typeof asObject(value).omittedChars === "number";
  return (isCut ? value : undefined) as never;
}

function readHead(head: UnknownObject): Partial<MessageHead> {
  const { error, model } = head;
  const { name, text } = asObject(error);
  return omitUndefined({
    role: asString(head.role),
    createdAt: asNumber(head.createdAt),
    summary: head.summary === true ? (true as const) : undefined,
    finish: asString(head.finish),
    error: typeof name === "string" && typeof text === "string" ? { name, text } : undefined,
    parentId: asString(head.parentId),
    usage: readUsage(head.usage),
    model: readModel(model),
    metadata: readMetadata(head.metadata),
  });
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asObject(value);
  return omitUndefined({
    inputTokens: asNumber(usage.inputTokens) ?? 0,
    outputTokens: asNumber(usage.outputTokens) ?? 0,
    reasoningTokens: asNumber(usage.reasoningTokens) ?? 0,
    cacheReadTokens: asNumber(usage.cacheReadTokens) ?? 0,
    cacheWriteTokens: asNumber(usage.cacheWriteTokens) ?? 0,
    totalTokens: asNumber(usage.totalTokens),
  });
}

function readModel(value: unknown): ModelRef | undefined {
  const { provider, id } = asObject(value);
  return typeof provider === "string" && typeof id === "string" ? { provider, id } : undefined;
}

function readMetadata(value: unknown): MessageMetadata | undefined {
  const { agentVisible, userVisible, kind, carried } = asObject(value);
  return ifAny(
    omitUndefined({
      agentVisible: typeof agentVisible === "boolean" ? agentVisible : undefined,
      userVisible: typeof userVisible === "boolean" ? userVisible : undefined,
      kind: asString(kind),
      carried: readCarriedFacts(carried),
    }),
  );
}
