import { findCompletedCompaction } from "../../stages/boundary.ts";
import { safeJson } from "../../text/json.ts";
import { type Cut, copyOf, headCut } from "../../text/truncate.ts";
import { isObject } from "../../text/unknown-value.ts";
import { outcomeText, toolResults } from "../../transcript/content.ts";
import {
  createIdDeduplicator,
  isVisibleToModel,
  type Message,
  shownOutcome,
  type Transcript,
  withText,
} from "../../transcript/message.ts";
import type { CallId, Part } from "../../transcript/part.ts";
import { createMarkingNamer, createOpenCalls } from "../content/call-ids.ts";
import type {
  CallPiece,
  LineFormat,
  LinePiece,
  LineReading,
  MessageHead,
  ResultPiece,
} from "./line-format.ts";
import { readNote, withPartNote } from "./line-note.ts";
import type { LineCollector, OlderMessages } from "./read-json-lines.ts";

/** A transcript, and the lines that it was read from. */
export interface DecodedLines {
  readonly transcript: Transcript;
  /** `readings[line]`, as the format gave them, with our notes in. */
  readonly readings: readonly (readonly LineReading[])[];
  /** Where each piece of the lines went: who only reads does not ask. Ask once, since it is found out each time. */
  readonly places: () => LinePlaces;
  /** The index of the newest message that a line gives something to; -1 where it gives nothing. */
  readonly newestMessageOf: (line: number) => number;
}

/** Where each piece of some lines went. */
export interface LinePlaces {
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
    // No getters: with those each result has a hidden class of its own, which holds its lines until the next full collection.
    places: () => ({
      messageIndexes: readings.map((ofLine) =>
        ofLine.map((each) => (isResultsOnly(each, callOf) ? -1 : (draftByKey.get(each.key)?.index ?? -1))),
      ),
      origins: readings.map((ofLine) =>
        ofLine.map(({ pieces }) => pieces.map((piece) => placeOf.get(piece) ?? NOWHERE)),
      ),
    }),
    newestMessageOf(line) {
      let newest = -1;
      for (const reading of readings[line] ?? []) {
        if (!isResultsOnly(reading, callOf))
          newest = Math.max(newest, draftByKey.get(reading.key)?.index ?? -1);
        for (const piece of reading.pieces) newest = Math.max(newest, placeOf.get(piece)?.messageIndex ?? -1);
      }
      return newest;
    },
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

/**
 * Keeps the lines of the window, so that a file of any size is read in the memory of its window. Of what stands before
 * the newest compaction, the newest messages stay with the beginnings of their texts: parts that were longer have a cut
 * with the method `size`. Older ones are only counted.
 */
export function collectWindow<Wire>(
  format: WindowFormat<Wire>,
  { roomChars = ROOM_CHARS, maxMessages = MAX_MESSAGES }: WindowLimits = {},
): LineCollector {
  /** Each from the beginning of a window on. */
  const past: Transcript[] = [];
  let pastMessages = 0;
  const older = { messages: 0, toolResults: 0, chars: 0, compactions: 0 };
  const goneIds = new Set<string>();
  let lines: unknown[] = [];
  let chars: number[] = [];
  let readChars = 0;
  let heldChars = 0;
  let limitChars = roomChars;
  let isRewound = false;

  /** True where the conversation goes on from a line that was dropped. */
  const goesBack = (): boolean => {
    const follows = lines.map((line) => goneIds.has(format.linkOf(line).parent ?? ""));
    if (!follows.includes(true)) return false;
    const isLive = format.liveLines(lines);
    return follows.some((is, index) => is && isLive[index]);
  };
  // The loops have functions of their own: those are compiled in a moment, and again where lines look otherwise.
  const noteGone = (line: unknown): void => {
    const { id } = format.linkOf(line);
    if (id !== undefined) goneIds.add(id);
  };
  const countOldest = (): void => {
    const oldest = past.shift() ?? [];
    pastMessages -= oldest.length;
    for (const message of oldest) countMessage(older, message);
  };
  const drop = (): void => {
    isRewound ||= goesBack();
    const { messages, count } = beforeWindow(format, lines);
    past.push(messages.map(withSizes));
    pastMessages += messages.length;
    if (past.length > 1 && pastMessages - (past[0]?.length ?? 0) >= maxMessages) countOldest();
    const gone = lines.slice(0, count);
    gone.forEach(noteGone);
    const heads = format.headsOf(gone);
    lines = [...heads, ...lines.slice(count)];
    chars = [...heads.map(() => 0), ...chars.slice(count)];
    heldChars = chars.reduce((sum, each) => sum + each, 0);
    limitChars = Math.max(roomChars, 2 * heldChars);
  };
  return {
    take(line, lineChars) {
      const kept = format.slim(line);
      if (kept === undefined) return;
      lines.push(kept);
      chars.push(lineChars);
      heldChars += lineChars;
      readChars += lineChars;
      // As soon as its summary must have come: lines that do not grow old are cheaply forgotten.
      if (readChars >= roomChars && format.isCompaction(kept))
        limitChars = Math.min(limitChars, heldChars + SUMMARY_CHARS);
      if (heldChars >= limitChars) drop();
    },
    lines: () => lines,
    past: () => ({ messages: past.flat(), older, isRewound: isRewound || goesBack() }),
  };
}

/** How much is kept of a file before anything is dropped, and how much of that. */
export interface WindowLimits {
  readonly roomChars?: number;
  /** Of what stands before the window: at least the newest so many are more than counted. */
  readonly maxMessages?: number;
}

/** Adds a message that has only the beginnings of its texts to what is known of all older ones. */
function countMessage(older: { -readonly [Sum in keyof OlderMessages]: number }, message: Message): void {
  older.toolResults += toolResults([message]).length;
  if (message.summary && message.error === undefined) older.compactions++;
  if (!isVisibleToModel(message)) return;
  if (message.role !== "system") older.messages++;
  for (const part of message.parts) if (part.agentVisible !== false) older.chars += recordedChars(part);
}

/** How long the texts of a part were in the file. */
function recordedChars(part: Part): number {
  const chars = (text: string, cut: Cut | undefined): number =>
    cut?.method === "size" ? cut.originalChars : text.length;
  if (part.type === "reasoning") return chars(part.text, part.cut);
  if (part.type === "text") return part.ignored ? 0 : chars(part.text, part.cut);
  if (part.type !== "tool") return 0;
  const { input = {}, inputCut, cut } = part;
  return chars(safeJson(input), inputCut) + chars(outcomeText(shownOutcome(part)), cut);
}

/** What must be known of a format to drop what stands before a window. */
interface WindowFormat<Wire> extends LineFormat<Wire> {
  /** The line without what the conversation does not need; undefined when nothing is left. */
  slim(line: unknown): unknown;
  /** True for a line that begins a compaction. */
  isCompaction(line: unknown): boolean;
  /** The name of a line, and of the one that it follows; a compaction follows none. */
  linkOf(line: unknown): { readonly id?: string | undefined; readonly parent?: string | undefined };
  /** For each line whether it is part of the conversation. */
  liveLines(lines: readonly unknown[]): readonly boolean[];
  /** Those of some lines that say something of all that follow. */
  headsOf(lines: readonly unknown[]): readonly unknown[];
}

/** So much is read before it is looked at again where the window begins. */
const ROOM_CHARS = 8 * 1024 * 1024;
/** The summary of a compaction stands in about so much behind it. */
const SUMMARY_CHARS = 128 * 1024;
/** Enough for some dozens of windows on the page. */
const MAX_MESSAGES = 4_000;

/** The messages before the window, and how many lines stand before its first. */
function beforeWindow<Wire>(
  format: LineFormat<Wire>,
  lines: readonly unknown[],
): { readonly messages: Transcript; readonly count: number } {
  const opened = format.open(lines as Wire);
  const { transcript, newestMessageOf } = decodeLines(format, opened);
  const compaction = findCompletedCompaction(transcript);
  if (compaction === undefined) return { messages: [], count: 0 };
  const { markerIndex, tailStartIndex } = compaction;
  const first = tailStartIndex === -1 ? markerIndex : tailStartIndex;
  const end = opened.findIndex((_, line) => newestMessageOf(line) >= first);
  let openedLines = 0;
  const count = lines.findIndex((line) => {
    openedLines += opened.length === lines.length ? 1 : format.open([line] as Wire).length;
    return openedLines > end;
  });
  return { messages: transcript.slice(0, first), count: Math.max(0, count) };
}

/** The message with the beginnings of its texts, and how long these were. */
function withSizes(message: Message): Message {
  return { ...message, parts: message.parts.map(partWithSize) };
}

function partWithSize(part: Part): Part {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length <= MAX_CHARS
        ? part
        : { ...part, text: beginning(part.text), cut: sizeOf(part.text) };
    case "tool": {
      const { outcome, input } = part;
      const output = outcomeText(outcome);
      const json = input === undefined ? "" : safeJson(input);
      return {
        ...part,
        ...(output.length > MAX_CHARS && {
          outcome: withText(outcome, beginning(output)),
          cut: sizeOf(output),
        }),
        ...(json.length > MAX_CHARS && {
          input: shortened(input),
          inputCut: { ...sizeOf(json), preview: beginning(json) },
        }),
      };
    }
    default:
      return part;
  }
}

const KEPT_CHARS = 80;
const MAX_CHARS = 2 * KEPT_CHARS;

function beginning(text: string): string {
  return copyOf(text.slice(0, headCut(text, KEPT_CHARS)));
}

function sizeOf({ length: originalChars }: string): Cut {
  const omittedChars = originalChars - KEPT_CHARS;
  return { method: "size", originalChars, omittedChars, limitChars: KEPT_CHARS };
}

function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.length > KEPT_CHARS ? beginning(value) : value;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(shortened);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each)]));
}

const MAX_ITEMS = 20;
