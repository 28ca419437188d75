import type { Message } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { shownOutcome } from "../../transcript/visibility.ts";
import type { DecodedLines, Origin } from "./decode-lines.ts";
import { type PartNote, partNote, readNote, withNote } from "./note.ts";
import type { LineFormat, MessageHead, NextPiece, Piece } from "./piece.ts";

export interface EncodeLine<Wire> {
  readonly format: LineFormat<Wire>;
  readonly line: unknown;
  readonly index: number;
  readonly decoded: DecodedLines;
  readonly pairs: readonly EditedPair[];
}

/** A message before and after the edits. */
export interface EditedPair {
  readonly before: Message;
  readonly after: Message;
  readonly isGone: boolean;
}

/** The line with its edited pieces; the same reference if none was, undefined if nothing is left of it. */
export function encodeLine<Wire>({
  format,
  line,
  index,
  decoded,
  pairs,
}: EncodeLine<Wire>): unknown | undefined {
  const readings = decoded.readings[index] ?? [];
  if (readings.length === 0) return line;
  const next: NextPiece[] = [];
  const before = readNote(line);
  const notes: Record<string, PartNote> = {};
  const heads: Record<string, Partial<MessageHead>> = {};
  let isChanged = false;
  let kept = 0;
  for (const [reading, { pieces, repeats }] of readings.entries()) {
    const own = pairs[decoded.messageIndexes[index]?.[reading] ?? -1];
    if (repeats === true) return own === undefined || own.after !== own.before ? undefined : line;
    const remaining: NextPiece[] = [];
    for (const [place, was] of pieces.entries()) {
      const origin = decoded.origins[index]?.[reading]?.[place];
      const change = origin === undefined ? undefined : nextPiece(was, origin, pairs);
      if (change === undefined) {
        isChanged = true;
        continue;
      }
      if (change.isChanged) isChanged = true;
      if (change.note !== undefined) notes[`${kept}/${remaining.length}`] = change.note;
      remaining.push({ reading, index: place, was, now: change.now });
    }
    const isLeft = remaining.length > 0 || (pieces.length === 0 && own?.isGone === false);
    const head = before?.heads?.[`${reading}`];
    if (isLeft && head !== undefined) heads[`${kept}`] = head;
    if (isLeft) kept++;
    else isChanged = true;
    next.push(...remaining);
  }
  if (!isChanged) return line;
  if (kept === 0) return undefined;
  return withNote(format.write(line, next), { parts: notes, heads });
}

interface Change {
  readonly now: Piece;
  readonly isChanged: boolean;
  readonly note: PartNote | undefined;
}

/** What becomes of a piece; undefined when it leaves. */
function nextPiece(was: Piece, origin: Origin, pairs: readonly EditedPair[]): Change | undefined {
  const pair = pairs[origin.messageIndex];
  const old = pair?.before.parts[origin.partIndex];
  const now = pair?.after.parts[origin.partIndex];
  if (pair === undefined || pair.isGone || now === undefined || now.agentVisible === false) return undefined;
  const note = noteOf(now, origin);
  if (now === old || old === undefined) return { now: was, isChanged: false, note };
  const piece = pieceOf(was, origin, now);
  if (piece === undefined) return undefined;
  return { now: piece, isChanged: piece !== was || !isSameNote(note, noteOf(old, origin)), note };
}

/** What is cut of an input is noted with the call, what is cut of an output with the result. */
function noteOf(part: Part, { half }: Origin): PartNote | undefined {
  const note = partNote(part);
  if (note === undefined || (half !== "call" && half !== "result")) return note;
  const { cut, inputCut } = note;
  if (half === "result") return cut && { cut };
  return inputCut && { inputCut };
}

function isSameNote(one: PartNote | undefined, other: PartNote | undefined): boolean {
  const keys = new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})]) as Set<keyof PartNote>;
  return [...keys].every((key) => one?.[key] === other?.[key]);
}

function pieceOf(was: Piece, { half }: Origin, now: Part): Piece | undefined {
  switch (half) {
    case "whole":
      return { half: "whole", part: now.type === "tool" ? shownTool(now) : now };
    case "call":
      return now.type === "tool" ? callOf(was, now) : { half: "whole", part: now };
    case "result":
      return now.type === "tool" ? resultOf(was, now) : undefined;
    case "orphan":
      return now.type === "tool" ? resultOf(was, now) : { half: "whole", part: now };
    default:
      return half satisfies never;
  }
}

function shownTool(part: ToolPart): ToolPart {
  return part.clearedAt === undefined ? part : { ...part, outcome: shownOutcome(part) };
}

function callOf(was: Piece, now: ToolPart): Piece {
  const isSame = was.half === "call" && was.part.input === now.input && was.part.tool === now.tool;
  return isSame ? was : { half: "call", part: { ...now, outcome: { status: "pending" } } };
}

function resultOf(was: Piece, now: ToolPart): Piece | undefined {
  if (now.outcome.status === "pending") return undefined;
  const outcome = shownOutcome(now);
  if (was.half === "result" && was.outcome === outcome) return was;
  return { half: "result", callId: now.callId, tool: now.tool, outcome };
}
