import type { Message } from "../../transcript/message.ts";
import type { CallId, OutputCut, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";

/** One block of a line, as its format reads it: a whole part, or one half of a call and its result. */
export type LinePiece = WholePiece | CallPiece | ResultPiece;

interface WholePiece {
  readonly half: "whole";
  readonly part: Part;
}

/** A call whose result stands elsewhere; its outcome is pending here. */
interface CallPiece {
  readonly half: "call";
  readonly part: ToolPart;
}

export interface ResultPiece {
  readonly half: "result";
  readonly callId: CallId;
  readonly tool?: string;
  readonly outcome: ToolOutcome;
  /** What an edit left out of the outcome. */
  readonly cut?: OutputCut;
}

/** What a line says about a message beside its parts. */
export type MessageHead = Omit<Message, "id" | "parts">;

/** What one line gives to one message. */
export interface LineReading {
  /** Lines of the same key are one message, which stands where the first of them stands; also its id. */
  readonly key: string;
  readonly head: MessageHead;
  readonly pieces: readonly LinePiece[];
  /** Set on a line that only repeats what others say of the message: it leaves as soon as the message is edited. */
  readonly repeats?: true;
}

/** How a format reads lines, writes changed ones, and makes new ones. */
export interface LineFormat<Wire> {
  readonly name: string;
  /** The lines of a file, in its order. */
  open(wire: Wire): readonly unknown[];
  /** What each line gives to the conversation; a line that gives nothing is kept as it is. */
  read(lines: readonly unknown[]): readonly (readonly LineReading[])[];
  /** The line with these pieces instead of its own, those of its first reading first. */
  write(line: unknown, pieces: readonly NextPiece[]): object;
  /** Lines for messages that an edit put in, one behind the other. */
  create(messages: readonly Message[], context: CreateContext): readonly object[];
  /** Lines for results of calls that had none. */
  answer(results: readonly ResultPiece[], context: CreateContext): readonly object[];
  /** The file with other lines. */
  close(wire: Wire, lines: readonly PlacedLine[]): Wire;
}

/** A piece that stays: as it was, or changed. */
export interface NextPiece {
  /** Which reading of the line it belongs to. */
  readonly reading: number;
  /** Its index among the pieces of that reading. */
  readonly index: number;
  readonly was: LinePiece;
  /** The same reference when nothing changed. */
  readonly now: LinePiece;
}

export interface PlacedLine {
  readonly line: unknown;
  /** Where it stood; -1 for a new one. */
  readonly origin: number;
}

export interface CreateContext {
  /** The lines of the whole file, to take names of sessions and folders from. */
  readonly lines: readonly unknown[];
  readonly at: number;
}

/** The part that a result is when it stands alone. */
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

/** Milliseconds since 1970 of a time as files write it: a date, or the number itself. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : value;
  return typeof time === "number" && Number.isFinite(time) ? time : undefined;
}

/** The date that a file writes for a time; undefined for one that no date has. */
export function dateOf(timeMs: number): string | undefined {
  // Dates end 8.64e15 ms from 1970.
  return Math.abs(timeMs) <= 8.64e15 ? new Date(timeMs).toISOString() : undefined;
}
