import { createIdDeduplicator, type Message, type Transcript } from "../../transcript/message.ts";
import type { CallId, Part } from "../../transcript/part.ts";
import { createMarkingNamer, createOpenCalls } from "../blocks/message-head.ts";
import type {
  CallPiece,
  LineFormat,
  LinePiece,
  LineReading,
  MessageHead,
  ResultPiece,
} from "./line-format.ts";
import { readNote, withPartNote } from "./line-note.ts";

/** A transcript, and where each piece of its lines went. */
export interface DecodedLines {
  readonly transcript: Transcript;
  /** `readings[line]`, as the format gave them, with our notes in. */
  readonly readings: readonly (readonly LineReading[])[];
  /** `messageIndexes[line][reading]`: the message that it is part of; -1 when it is nothing but results of others. */
  readonly messageIndexes: readonly (readonly number[])[];
  /** `origins[line][reading][piece]`. */
  readonly origins: readonly (readonly (readonly Origin[])[])[];
}

/** The part that a piece is, or is one half of. */
export interface Origin {
  readonly messageIndex: number;
  readonly partIndex: number;
  readonly half: LinePiece["half"] | "orphan";
}

/**
 * Reads lines into messages: lines of one key are one message, and a result joins its call wherever that stands. Calls that
 * share an id get names of their own, which are written with whatever else is.
 */
export function decodeLines<Wire>(format: LineFormat<Wire>, lines: readonly unknown[]): DecodedLines {
  const readings = format.read(lines).map((ofLine, index) => withNotes(ofLine, lines[index]));
  const callOf = matchResults(readings);
  const drafts: Draft[] = [];
  const draftByKey = new Map<string, Draft>();
  const placeOf = new Map<LinePiece, Origin>();
  const name = createMarkingNamer();

  for (const reading of eachReading(readings)) {
    if (isResultsOnly(reading, callOf)) continue;
    let draft = draftByKey.get(reading.key);
    if (draft === undefined) {
      draft = { index: drafts.length, key: reading.key, head: reading.head, parts: [] };
      drafts.push(draft);
      draftByKey.set(reading.key, draft);
    } else if (reading.repeats !== true) {
      draft.head = mergeHeads(draft.head, reading.head);
    }
    for (const piece of reading.pieces) {
      if (piece.half === "result" && callOf.has(piece)) continue;
      const half = piece.half === "result" ? "orphan" : piece.half;
      placeOf.set(piece, { messageIndex: draft.index, partIndex: draft.parts.length, half });
      draft.parts.push(piece.half === "result" ? orphan(piece) : name(piece.part));
    }
  }
  for (const [result, call] of callOf) {
    const place = placeOf.get(call);
    const parts = place === undefined ? undefined : drafts[place.messageIndex]?.parts;
    const part = place === undefined ? undefined : parts?.[place.partIndex];
    if (place === undefined || parts === undefined || part?.type !== "tool") continue;
    const { outcome, cut } = result;
    parts[place.partIndex] = { ...part, outcome, ...(cut !== undefined && { cut }) };
    placeOf.set(result, { ...place, half: "result" });
  }
  const nameId = createIdDeduplicator();
  return {
    transcript: drafts.map(
      (draft): Message => ({ id: nameId(draft.key), ...draft.head, parts: draft.parts }),
    ),
    readings,
    messageIndexes: readings.map((ofLine) =>
      ofLine.map((each) => (isResultsOnly(each, callOf) ? -1 : (draftByKey.get(each.key)?.index ?? -1))),
    ),
    origins: readings.map((ofLine) =>
      ofLine.map(({ pieces }) => pieces.map((piece) => placeOf.get(piece) ?? NOWHERE)),
    ),
  };
}

const NOWHERE: Origin = { messageIndex: -1, partIndex: -1, half: "whole" };

interface Draft {
  readonly index: number;
  readonly key: string;
  head: MessageHead;
  readonly parts: Part[];
}

/** A later line has the newer facts, but the time of the first line counts. */
function mergeHeads(first: MessageHead, later: MessageHead): MessageHead {
  return {
    ...first,
    ...later,
    role: first.role,
    ...(first.createdAt !== undefined && { createdAt: first.createdAt }),
  };
}

function withNotes(readings: readonly LineReading[], line: unknown): readonly LineReading[] {
  const note = readNote(line);
  if (note === undefined) return readings;
  return readings.map((reading, index) => ({
    ...reading,
    head: { ...reading.head, ...note.heads?.[`${index}`] },
    pieces: reading.pieces.map((piece, place) => withPartNote(piece, note.parts?.[`${index}/${place}`])),
  }));
}

/** The call of each result: that of the newest message before it, else one behind it. */
function matchResults(readings: readonly (readonly LineReading[])[]): ReadonlyMap<ResultPiece, CallPiece> {
  const callOf = new Map<ResultPiece, CallPiece>();
  const open = createOpenCalls<CallPiece>();
  const early: ResultPiece[] = [];
  const answered = new Set<CallId>();
  for (const { key, pieces } of eachReading(readings)) {
    for (const piece of pieces) {
      if (piece.half === "call") open.add(piece.part.callId, key, piece);
      if (piece.half !== "result") continue;
      const call = open.take(piece.callId);
      if (call !== undefined) {
        callOf.set(piece, call);
        answered.add(piece.callId);
      } else if (!answered.has(piece.callId)) early.push(piece);
    }
  }
  for (const piece of early) {
    const call = open.take(piece.callId);
    if (call !== undefined) callOf.set(piece, call);
  }
  return callOf;
}

/** True for what a line gives when that is nothing but results of calls in other messages. */
function isResultsOnly({ pieces }: LineReading, callOf: ReadonlyMap<ResultPiece, LinePiece>): boolean {
  return pieces.length > 0 && pieces.every((piece) => piece.half === "result" && callOf.has(piece));
}

function orphan({ callId, tool, outcome, cut }: ResultPiece): Part {
  const name = tool ?? "unknown";
  const part = { type: "tool", callId, tool: name, input: undefined, outcome, callMissing: true } as const;
  return cut === undefined ? part : { ...part, cut };
}

function* eachReading(readings: readonly (readonly LineReading[])[]): Generator<LineReading> {
  for (const ofLine of readings) yield* ofLine;
}
