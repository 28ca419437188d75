import {
  asNumber,
  asObject,
  asString,
  asTrue,
  omitUndefined,
  type UnknownObject,
} from "../../text/unknown-value.ts";
import { type Message, type ModelRef, project } from "../../transcript/message.ts";
import type { CompactionPart, Part, TextPart, ToolPart } from "../../transcript/part.ts";
import { readMetadata } from "../content/metadata.ts";
import { readUsage, type UsageNames } from "../content/usage.ts";
import type { LinePiece, MessageHead } from "./line-format.ts";

/**
 * What an edit of ours leaves in a line under `carryover`: notes on parts by their index, and facts about the message
 * that the line has no field for. The note is beside the message and never in it, since an agent sends the blocks of
 * a message to its provider as they are.
 */
interface LineNote {
  /** By `reading/piece`. */
  readonly parts?: Readonly<Record<string, PartNote>>;
  /** By the reading of the line; what is noted here overrides what the line says. */
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

/** The line with a note in it, or without one. */
export function withNote(line: object, { parts = {}, heads = {} }: LineNote): object {
  const { carryover, ...rest } = asObject(line);
  const own = { ...asObject(carryover), parts: unlessEmpty(parts), heads: unlessEmpty(heads) };
  const note = unlessEmpty(omitUndefined(own));
  return note === undefined ? rest : { ...rest, carryover: note };
}

/** The note of a new line: everything about its message that its own fields may not say. */
export function noteOfMessage(message: Message, reading = 0): LineNote {
  const { id: _, parts, ...head } = message;
  const notes: Record<string, PartNote> = {};
  for (const [index, part] of parts.entries()) {
    const note = partNote(part);
    if (note !== undefined) notes[`${reading}/${index}`] = note;
  }
  return { heads: { [reading]: head }, parts: notes };
}

/** An inserted message as the model is to see it: without hidden parts, cleared outputs as their placeholder. */
export function visibleMessage(message: Message): Message {
  return project([message])[0] ?? message;
}

/** What must be noted of a part; undefined when its block says everything. */
export function partNote(part: Part): PartNote | undefined {
  switch (part.type) {
    case "tool":
      return unlessEmpty(omitUndefined({ cut: part.cut, inputCut: part.inputCut }));
    case "compaction":
      return omitUndefined({
        trigger: part.trigger,
        overflow: part.overflow,
        tailStartId: part.tailStartId,
      });
    case "text": {
      const { synthetic, ignored, own, cut } = part;
      return unlessEmpty(omitUndefined({ synthetic, ignored, own, cut }));
    }
    default:
      return undefined;
  }
}

/** The piece with its note in it. */
export function withPartNote(piece: LinePiece, value: unknown): LinePiece {
  if (value === undefined) return piece;
  const note = asObject(value);
  const cut = asCut(note.cut);
  if (piece.half === "result") return { ...piece, ...omitUndefined({ cut }) };
  const { part } = piece;
  switch (part.type) {
    case "tool":
      return withFields(piece, { cut, inputCut: asCut(note.inputCut) });
    case "text": {
      const { synthetic, ignored, own } = note;
      return withFields(piece, {
        synthetic: asTrue(synthetic),
        ignored: asTrue(ignored),
        own: asTrue(own),
        cut,
      });
    }
    case "compaction": {
      const { trigger, overflow, tailStartId } = note;
      return withFields(piece, {
        trigger: trigger === "manual" || trigger === "auto" ? trigger : undefined,
        overflow: asTrue(overflow),
        tailStartId: asString(tailStartId),
      });
    }
    default:
      return piece;
  }
}

function withFields(piece: LinePiece, noted: object): LinePiece {
  const { part } = piece as Extract<LinePiece, { part: Part }>;
  return { ...piece, part: { ...part, ...omitUndefined(noted) } } as LinePiece;
}

function unlessEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function asCut(value: unknown): never {
  return (typeof asObject(value).omittedChars === "number" ? value : undefined) as never;
}

function readHead(head: UnknownObject): Partial<MessageHead> {
  const { name, text } = asObject(head.error);
  return omitUndefined({
    role: asString(head.role),
    createdAt: asNumber(head.createdAt),
    summary: asTrue(head.summary),
    agent: asString(head.agent),
    finish: asString(head.finish),
    error: typeof name === "string" && typeof text === "string" ? { name, text } : undefined,
    parentId: asString(head.parentId),
    usage: readUsage(head.usage, OWN_USAGE),
    model: readModel(head.model),
    metadata: readMetadata(head.metadata),
  });
}

const OWN_USAGE: UsageNames = {
  input: "inputTokens",
  output: "outputTokens",
  reasoning: "reasoningTokens",
  cacheRead: "cacheReadTokens",
  cacheWrite: "cacheWriteTokens",
  total: "totalTokens",
};

function readModel(value: unknown): ModelRef | undefined {
  const { provider, id } = asObject(value);
  return typeof provider === "string" && typeof id === "string" ? { provider, id } : undefined;
}
