import { asNumber, omitUndefined } from "../../text/unknown-value.ts";
import type { Message } from "../../transcript/message.ts";
import type { CallId, OutputCut, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";

/**
 * How one kind of transcript file is read and written, for `createLineFormat`. A line gives readings: what it
 * contributes to one message each, as pieces. A piece is a whole part, or one half of a call and its result.
 */
export interface LineFormat<Wire> {
  readonly name: string;
  /** The lines of a file, in its order. */
  open(wire: Wire): readonly unknown[];
  /** What each line gives to the conversation; a line that gives nothing is kept as it is. */
  read(lines: readonly unknown[]): readonly (readonly LineReading[])[];
  /** The line with these pieces instead of its own, those of its first reading first. */
  write(line: unknown, pieces: readonly NextPiece[]): object;
  /** Lines for messages that an edit inserted, in their order. */
  create(messages: readonly Message[], context: CreateContext): readonly object[];
  /** Lines for results of calls that had none. */
  answer(results: readonly ResultPiece[], context: CreateContext): readonly object[];
  /** The file with other lines. */
  close(wire: Wire, lines: readonly PlacedLine[]): Wire;
}

/** What one line gives to one message. */
export interface LineReading {
  /** Lines of the same key are one message, at the position of the first of them; also the id of the message. */
  readonly key: string;
  readonly head: MessageHead;
  readonly pieces: readonly LinePiece[];
  /** Set on a line that only repeats what others say of the message: it is dropped as soon as the message is edited. */
  readonly repeats?: true;
}

/** What a line says about a message beside its parts. */
export type MessageHead = Omit<Message, "id" | "parts">;

export type LinePiece = WholePiece | CallPiece | ResultPiece;

interface WholePiece {
  readonly half: "whole";
  readonly part: Part;
}

/** A call whose result is in another place; its outcome is pending here. */
export interface CallPiece {
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
  /** Its index before the edit; -1 for a new one. */
  readonly origin: number;
}

export interface CreateContext {
  /** The lines of the whole file, from which names of sessions and folders are copied. */
  readonly lines: readonly unknown[];
  readonly at: number;
}

/** What a line gives that is no part of the conversation. */
export const NO_READINGS: readonly LineReading[] = [];

/** The head of a message that the user sent. */
export function userHead(createdAt: number | undefined): MessageHead {
  return omitUndefined({ role: "user", createdAt });
}

/** The head of a compaction's summary. */
export function summaryHead(createdAt: number | undefined): MessageHead {
  return omitUndefined({ role: "assistant", createdAt, summary: true as const, finish: "stop" });
}

/** Milliseconds since 1970 of a time as files write it: a date, or the number itself. */
export function timeOf(value: unknown): number | undefined {
  return asNumber(typeof value === "string" ? Date.parse(value) : value);
}

/** The date that a file writes for a time; undefined for a time that is out of range. */
export function dateOf(timeMs: number): string | undefined {
  // Dates end 8.64e15 ms from 1970.
  return Math.abs(timeMs) <= 8.64e15 ? new Date(timeMs).toISOString() : undefined;
}
