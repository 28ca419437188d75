import type { Message, Transcript } from "../../transcript/message.ts";
import { isVisibleToModel, project } from "../../transcript/visibility.ts";
import type { DecodedLines } from "./decode-lines.ts";
import { type EditedPair, encodeLine } from "./encode-line.ts";
import { readNote, withNote } from "./note.ts";
import type { CreateContext, LineFormat, MessageHead, PlacedLine, ResultPiece } from "./piece.ts";

export interface EncodeLines<Wire> {
  readonly format: LineFormat<Wire>;
  readonly lines: readonly unknown[];
  readonly decoded: DecodedLines;
  readonly edited: Transcript;
  readonly at: number;
}

/** The lines of an edited transcript: untouched ones are the same references, what is hidden leaves. */
export function encodeLines<Wire>(input: EncodeLines<Wire>): readonly PlacedLine[] {
  const { format, lines, decoded, edited, at } = input;
  const editedById = new Map(edited.map((message) => [message.id, message]));
  const pairs = decoded.transcript.map((before): EditedPair => {
    const after = editedById.get(before.id) ?? before;
    return { before, after, isGone: isGone(after) };
  });
  const encoded = lines.map((line, index) => encodeLine({ format, line, index, decoded, pairs }));
  noteHeads(encoded, decoded, pairs);
  const context: CreateContext = { lines, at };
  const answers = answerCalls({ ...input, context, pairs });
  return placeLines({ ...input, encoded, answers, pairs, context });
}

function isGone(message: Message): boolean {
  return !isVisibleToModel(message) || project([message]).length === 0;
}

/** Where some lines of a message leave, the first and the last that stay say what the whole message was. */
function noteHeads(
  encoded: (unknown | undefined)[],
  decoded: DecodedLines,
  pairs: readonly EditedPair[],
): void {
  const own = new Map<number, number[]>();
  for (const [line, indexes] of decoded.messageIndexes.entries()) {
    const repeats = decoded.readings[line]?.at(-1)?.repeats;
    const index = indexes.at(-1) ?? -1;
    if (index === -1 || repeats === true) continue;
    const ofMessage = own.get(index);
    if (ofMessage === undefined) own.set(index, [line]);
    else ofMessage.push(line);
  }
  for (const [index, ofMessage] of own) {
    const pair = pairs[index];
    const staying = ofMessage.filter((line) => encoded[line] !== undefined);
    if (pair === undefined || staying.length === ofMessage.length) continue;
    const { id: _, parts: __, ...head } = pair.before;
    for (const line of new Set([staying[0], staying.at(-1)])) {
      if (line !== undefined) encoded[line] = withHead(encoded[line] as object, head);
    }
  }
}

function withHead(line: object, head: MessageHead): object {
  const note = readNote(line);
  return withNote(line, { ...note, heads: { ...note?.heads, 0: head } });
}

interface Answering<Wire> extends EncodeLines<Wire> {
  readonly context: CreateContext;
  readonly pairs: readonly EditedPair[];
}

/** New lines with results for calls that had none, by the last line of their message. */
function answerCalls<Wire>({
  format,
  decoded,
  pairs,
  context,
}: Answering<Wire>): ReadonlyMap<number, readonly object[]> {
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
        const results = resultsOf.get(messageIndex) ?? [];
        results.push({ half: "result", callId: now.callId, tool: now.tool, outcome: now.outcome });
        resultsOf.set(messageIndex, results);
      }
    }
  }
  const answers = new Map<number, readonly object[]>();
  for (const [messageIndex, results] of resultsOf)
    answers.set(lastLineOf.get(messageIndex) ?? -1, format.answer(results, context));
  return answers;
}

interface Placing<Wire> extends Answering<Wire> {
  readonly encoded: readonly (unknown | undefined)[];
  readonly answers: ReadonlyMap<number, readonly object[]>;
}

/** All lines in their new order: those of moved messages and new ones stand before the next message that stayed. */
function placeLines<Wire>({
  format,
  decoded,
  edited,
  encoded,
  answers,
  context,
}: Placing<Wire>): readonly PlacedLine[] {
  const indexById = new Map(decoded.transcript.map((message, index) => [message.id, index]));
  const linesOf = ownedLines(decoded, encoded);
  const sequence = edited
    .map((message) => ({ message, owned: linesOf.get(indexById.get(message.id) ?? -1) ?? [] }))
    .filter(({ message, owned }) => owned.length > 0 || (!indexById.has(message.id) && !isGone(message)));

  /** What stands before a line, keyed by its index. */
  const before = new Map<number, readonly PlacedLine[]>();
  const moved = new Set<number>();
  let next = encoded.length;
  /** What has to stand before the next line, and new messages among it that are not written yet; newest first. */
  let waiting: (readonly PlacedLine[])[] = [];
  let run: Message[] = [];
  const writeRun = (): void => {
    if (run.length > 0) waiting.push(created(format.create(run.toReversed(), context)));
    run = [];
  };
  const settle = (): void => {
    writeRun();
    if (waiting.length > 0) before.set(next, [...waiting.toReversed().flat(), ...(before.get(next) ?? [])]);
    waiting = [];
  };
  // From the end: a message that stands before the next one stayed, any other was moved.
  for (const { message, owned } of sequence.toReversed()) {
    const [first] = owned;
    if (first === undefined) {
      run.push(message);
    } else if (first > next) {
      writeRun();
      // One line can be two messages.
      const fresh = owned.filter((line) => !moved.has(line));
      for (const line of fresh) moved.add(line);
      waiting.push(fresh.flatMap((line) => placed(encoded, answers, line)));
    } else {
      settle();
      next = first;
    }
  }
  settle();

  const result: PlacedLine[] = [];
  for (let line = 0; line <= encoded.length; line++) {
    result.push(...(before.get(line) ?? []));
    if (line < encoded.length && !moved.has(line)) result.push(...placed(encoded, answers, line));
  }
  return result;
}

function created(lines: readonly object[]): readonly PlacedLine[] {
  return lines.map((line) => ({ line, origin: -1 }));
}

function placed(
  encoded: readonly (unknown | undefined)[],
  answers: ReadonlyMap<number, readonly object[]>,
  line: number,
): readonly PlacedLine[] {
  const own = encoded[line];
  const behind = created(answers.get(line) ?? []);
  return own === undefined ? behind : [{ line: own, origin: line }, ...behind];
}

/** The lines that go where a message goes: its own, and those that hold nothing but results of its calls. */
function ownedLines(
  decoded: DecodedLines,
  encoded: readonly (unknown | undefined)[],
): ReadonlyMap<number, readonly number[]> {
  const owned = new Map<number, number[]>();
  for (const [line, indexes] of decoded.messageIndexes.entries()) {
    if (encoded[line] === undefined || indexes.length === 0) continue;
    const first = decoded.origins[line]?.[0]?.[0]?.messageIndex ?? -1;
    for (const index of new Set(indexes.every((each) => each === -1) ? [first] : indexes)) {
      const ofMessage = owned.get(index);
      if (ofMessage === undefined) owned.set(index, [line]);
      else ofMessage.push(line);
    }
  }
  return owned;
}
