import { applyEdits } from "../../transcript/edit.ts";
import { type Format, findFaults, findRenamedCalls } from "../../transcript/format.ts";
import {
  isVisibleToModel,
  type Message,
  project,
  shownOutcome,
  type Transcript,
} from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { type DecodedLines, decodeLines, type LinePlaces, type Origin } from "./decode-lines.ts";
import type {
  CreateContext,
  LineFormat,
  LinePiece,
  MessageHead,
  NextPiece,
  PlacedLine,
  ResultPiece,
} from "./line-format.ts";
import { type PartNote, partNote, readNote, withNote } from "./line-note.ts";

/** A format of transcript files, from how its lines are read and written. */
export function createLineFormat<Wire>(format: LineFormat<Wire>): Format<Wire> {
  const decode = (wire: Wire) => decodeLines(format, format.open(wire)).transcript;
  return {
    name: format.name,
    decode,
    faults(wire) {
      const transcript = decode(wire);
      return [...findFaults(transcript), ...findRenamedCalls(transcript)];
    },

    apply(wire, edits, options) {
      if (edits.length === 0) return wire;
      const lines = format.open(wire);
      const read = decodeLines(format, lines);
      const decoded = { ...read, ...read.places() };
      const edited = applyEdits(decoded.transcript, edits, options);
      return format.close(wire, encodeLines({ format, decoded, edited, context: { lines, at: options.at } }));
    },
  };
}

/** Everything that is known while the lines of an edited transcript are written. */
interface Encoding<Wire> {
  readonly format: LineFormat<Wire>;
  readonly decoded: PlacedLines;
  readonly edited: Transcript;
  readonly context: CreateContext;
  /** By the index of the message in the decoded transcript. */
  readonly pairs: readonly EditedPair[];
}

type PlacedLines = DecodedLines & LinePlaces;

/** A message before and after the edits. */
interface EditedPair {
  readonly before: Message;
  readonly after: Message;
  readonly isGone: boolean;
}

/** A line after the edits; undefined when nothing is left of it. */
type EncodedLine = unknown | undefined;

/** The lines of an edited transcript: untouched ones are the same references, what is hidden is left out. */
function encodeLines<Wire>(input: Omit<Encoding<Wire>, "pairs">): readonly PlacedLine[] {
  const { decoded, edited, context } = input;
  const editedById = new Map(edited.map((message) => [message.id, message]));
  const pairs = decoded.transcript.map((before): EditedPair => {
    const after = editedById.get(before.id) ?? before;
    return { before, after, isGone: isGone(after) };
  });
  const encoding = { ...input, pairs };
  const encoded = context.lines.map((line, index) => encodeLine(encoding, line, index));
  noteHeads(encoding, encoded);
  return placeLines(encoding, encoded, answerCalls(encoding));
}

function isGone(message: Message): boolean {
  return !isVisibleToModel(message) || project([message]).length === 0;
}

/** Where some lines of a message are dropped, the first and the last of the others note what the whole message was. */
function noteHeads({ decoded, pairs }: Encoding<unknown>, encoded: EncodedLine[]): void {
  const linesOf = new Map<number, number[]>();
  for (const [line, indexes] of decoded.messageIndexes.entries()) {
    const index = indexes.at(-1) ?? -1;
    const isRepeat = decoded.readings[line]?.at(-1)?.repeats === true;
    if (index !== -1 && !isRepeat) pushTo(linesOf, index, line);
  }
  for (const [index, lines] of linesOf) {
    const pair = pairs[index];
    const left = lines.filter((line) => encoded[line] !== undefined);
    if (pair === undefined || left.length === lines.length) continue;
    const { id: _, parts: __, ...head } = pair.before;
    for (const line of new Set([left[0], left.at(-1)])) {
      if (line !== undefined) encoded[line] = withHead(encoded[line] as object, head);
    }
  }
}

function pushTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function withHead(line: object, head: MessageHead): object {
  const note = readNote(line);
  return withNote(line, { ...note, heads: { ...note?.heads, 0: head } });
}

/** New lines with results for calls that had none, by the last line of their message. */
function answerCalls<Wire>({
  format,
  decoded,
  pairs,
  context,
}: Encoding<Wire>): ReadonlyMap<number, readonly object[]> {
  const resultsOf = new Map<number, ResultPiece[]>();
  const lastLineOf = new Map<number, number>();
  for (const [line, ofLine] of decoded.origins.entries()) {
    for (const [reading, origins] of ofLine.entries()) {
      const own = decoded.messageIndexes[line]?.[reading] ?? -1;
      if (own !== -1 && decoded.readings[line]?.[reading]?.repeats !== true) lastLineOf.set(own, line);
      for (const { messageIndex, partIndex, half } of origins) {
        const pair = pairs[messageIndex];
        if (half !== "call" || pair === undefined || pair.isGone || pair.after === pair.before) continue;
        const was = pair.before.parts[partIndex];
        const now = pair.after.parts[partIndex];
        if (was?.type !== "tool" || now?.type !== "tool" || now.agentVisible === false) continue;
        if (was.outcome.status !== "pending" || now.outcome.status === "pending") continue;
        const { callId, tool, outcome } = now;
        pushTo(resultsOf, messageIndex, { half: "result", callId, tool, outcome });
      }
    }
  }
  const answers = new Map<number, readonly object[]>();
  for (const [messageIndex, results] of resultsOf)
    answers.set(lastLineOf.get(messageIndex) ?? -1, format.answer(results, context));
  return answers;
}

/** All lines in their new order: those of moved and new messages come before the next message that was not moved. */
function placeLines<Wire>(
  { format, decoded, edited, context }: Encoding<Wire>,
  encoded: readonly EncodedLine[],
  answers: ReadonlyMap<number, readonly object[]>,
): readonly PlacedLine[] {
  const placed = (line: number): readonly PlacedLine[] => {
    const own = encoded[line];
    const behind = created(answers.get(line) ?? []);
    return own === undefined ? behind : [{ line: own, origin: line }, ...behind];
  };
  const indexById = new Map(decoded.transcript.map((message, index) => [message.id, index]));
  const linesOf = ownedLines(decoded, encoded);
  const sequence = edited
    .map((message) => ({ message, owned: linesOf.get(indexById.get(message.id) ?? -1) ?? [] }))
    .filter(({ message, owned }) => owned.length > 0 || (!indexById.has(message.id) && !isGone(message)));

  /** The lines to write before a line, by its index. */
  const before = new Map<number, readonly PlacedLine[]>();
  const moved = new Set<number>();
  let next = encoded.length;
  /** Lines to write before the next one, newest first. */
  let waiting: (readonly PlacedLine[])[] = [];
  let run: Message[] = [];
  const writeRun = (): void => {
    if (run.length > 0) waiting.push(created(format.create(run.toReversed(), context)));
    run = [];
  };
  const placeWaiting = (): void => {
    writeRun();
    if (waiting.length > 0) before.set(next, [...waiting.toReversed().flat(), ...(before.get(next) ?? [])]);
    waiting = [];
  };
  // From the end: a message before the next one was not moved, any other was.
  for (const { message, owned } of sequence.toReversed()) {
    const [first] = owned;
    if (first === undefined) {
      run.push(message);
    } else if (first > next) {
      writeRun();
      // One line can be two messages.
      const fresh = owned.filter((line) => !moved.has(line));
      for (const line of fresh) moved.add(line);
      waiting.push(fresh.flatMap(placed));
    } else {
      placeWaiting();
      next = first;
    }
  }
  placeWaiting();

  const result: PlacedLine[] = [];
  for (let line = 0; line <= encoded.length; line++) {
    result.push(...(before.get(line) ?? []));
    if (line < encoded.length && !moved.has(line)) result.push(...placed(line));
  }
  return result;
}

function created(lines: readonly object[]): readonly PlacedLine[] {
  return lines.map((line) => ({ line, origin: -1 }));
}

/** The lines that move with a message: its own, and those with nothing but results of its calls. */
function ownedLines(
  decoded: PlacedLines,
  encoded: readonly EncodedLine[],
): ReadonlyMap<number, readonly number[]> {
  const owned = new Map<number, number[]>();
  for (const [line, indexes] of decoded.messageIndexes.entries()) {
    if (encoded[line] === undefined || indexes.length === 0) continue;
    const first = decoded.origins[line]?.[0]?.[0]?.messageIndex ?? -1;
    for (const index of new Set(indexes.every((each) => each === -1) ? [first] : indexes))
      pushTo(owned, index, line);
  }
  return owned;
}

/** The line with its edited pieces; the same reference if none was, undefined if nothing is left of it. */
function encodeLine<Wire>(
  { format, decoded, pairs }: Encoding<Wire>,
  line: unknown,
  index: number,
): EncodedLine {
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
  readonly now: LinePiece;
  readonly isChanged: boolean;
  readonly note: PartNote | undefined;
}

/** What becomes of a piece; undefined when it is dropped. */
function nextPiece(was: LinePiece, origin: Origin, pairs: readonly EditedPair[]): Change | undefined {
  const pair = pairs[origin.messageIndex];
  const old = pair?.before.parts[origin.partIndex];
  const now = pair?.after.parts[origin.partIndex];
  if (pair === undefined || pair.isGone || now === undefined || now.agentVisible === false) return undefined;
  const note = noteOf(now, origin);
  if ((now === old && !isRenamed(was, now)) || old === undefined) return { now: was, isChanged: false, note };
  const piece = pieceOf(was, origin, now);
  if (piece === undefined) return undefined;
  return { now: piece, isChanged: piece !== was || !isSameNote(note, noteOf(old, origin)), note };
}

/** Calls that share an id in the file are told apart by what is written: otherwise an edit could give one's result to another. */
function isRenamed(was: LinePiece, now: Part): boolean {
  const callId = was.half === "result" ? was.callId : was.part.type === "tool" ? was.part.callId : undefined;
  return callId !== undefined && now.type === "tool" && !now.callMissing && now.callId !== callId;
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

function pieceOf(was: LinePiece, { half }: Origin, now: Part): LinePiece | undefined {
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

function callOf(was: LinePiece, now: ToolPart): LinePiece {
  const isSame =
    was.half === "call" &&
    was.part.input === now.input &&
    was.part.tool === now.tool &&
    was.part.callId === now.callId;
  return isSame ? was : { half: "call", part: { ...now, outcome: { status: "pending" } } };
}

function resultOf(was: LinePiece, now: ToolPart): LinePiece | undefined {
  if (now.outcome.status === "pending") return undefined;
  const outcome = shownOutcome(now);
  if (was.half === "result" && was.outcome === outcome && was.callId === now.callId) return was;
  return { half: "result", callId: now.callId, tool: now.tool, outcome };
}
