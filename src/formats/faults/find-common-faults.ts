import { isMalformed } from "../../text/normalize.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { Fault } from "../../transcript/format.ts";
import { someString } from "./some-string.ts";
import { faultAt, type WireBlock, type WireMessage } from "./wire-message.ts";

/** What every provider refuses: rules common-01 to common-12. */
export function findCommonFaults(messages: readonly WireMessage[]): readonly Fault[] {
  return [...pairingFaults(messages), ...endFaults(messages), ...contentFaults(messages)];
}

/** The two ends of a request: common-08 and common-09. */
function* endFaults(messages: readonly WireMessage[]): Generator<Fault> {
  const first = messages.find((message) => message.side !== "system");
  const last = messages.findLast((message) => message.side !== "system");
  if (first === undefined || last === undefined)
    return yield faultAt("common-08", { messageId: "" }, "there is no message: send at least a user's text");
  if (first.side === "assistant" && !isCompaction(first.blocks[0]))
    yield faultAt("common-09", first, "the first message is the model's: put a user's text before it");
  if (last.side === "assistant" && !isCompaction(last.blocks.at(-1)))
    yield faultAt("common-08", last, "the last message is the model's: end with a user's text");
}

/** A provider's own compaction stands for what was before it, and may be all that there is. */
export function isCompaction(block: WireBlock | undefined): boolean {
  return asObject(block?.wire).type === "compaction";
}

/** Faults of a single message or block: common-07 and common-10 to common-12. */
function* contentFaults(messages: readonly WireMessage[]): Generator<Fault> {
  for (const message of messages) {
    if (message.isCutOff)
      yield faultAt("common-07", message, "this turn was broken off: leave it out with its results");
    if (message.blocks.length === 0)
      yield faultAt("common-10", message, "nothing is in this message: leave it out");
    for (const block of message.blocks) {
      const { type, read, wire } = block;
      if (type === "text" && typeof read === "string" && read.trim() === "")
        yield faultAt("common-10", block, "a text of nothing but blanks: leave it out");
      // In a JSON text half a pair is escaped, so the parsed arguments are checked too.
      if (someString(wire, isIllFormed) || someString(read, isIllFormed))
        yield faultAt("common-11", block, "half of a surrogate pair: replace it by U+FFFD");
      if (someString(read, hasControls))
        yield faultAt("common-12", block, "control characters in text for the model: take them out");
    }
  }
}

function hasControls(text: string): boolean {
  return isMalformed(text) && isMalformed(text.toWellFormed());
}

function isIllFormed(text: string): boolean {
  return !text.isWellFormed();
}

/**
 * What breaks the pairing of calls and results, whatever the provider: rules common-01 to common-06.
 * A result must follow the turn of its call with nothing but other results of that turn between.
 */
function* pairingFaults(messages: readonly WireMessage[]): Generator<Fault> {
  const calls = new Map<string, Call>();
  let turn: Turn | undefined;
  let isFirst = true;
  for (const { side, blocks } of messages) {
    for (const block of blocks) {
      if (block.type === "result") {
        yield* resultFaults(block, calls, isFirst);
      } else if (side !== "assistant" && turn !== undefined) {
        turn.isInterrupted = true;
      }
      if (side !== "system") isFirst = false;
    }
    if (side !== "assistant") continue;
    if (turn !== undefined) turn.isInterrupted = true;
    turn = { answers: 0, isInterrupted: false };
    for (const block of blocks) {
      if (block.type !== "call") continue;
      const callId = block.callId ?? "";
      if (calls.has(callId))
        yield faultAt("common-04", block, `call ${callId} is there twice: give each call its own id`);
      else calls.set(callId, { block, turn, isAnswered: false });
    }
  }
  for (const [callId, { block, isAnswered }] of calls) {
    if (!isAnswered)
      yield faultAt("common-06", block, `call ${callId} has no result: add one that says it was interrupted`);
  }
}

interface Call {
  readonly block: WireBlock;
  readonly turn: Turn;
  isAnswered: boolean;
}

interface Turn {
  answers: number;
  /** True once anything but a result of this turn has come. */
  isInterrupted: boolean;
}

function* resultFaults(
  block: WireBlock,
  calls: ReadonlyMap<string, Call>,
  isFirst: boolean,
): Generator<Fault> {
  const callId = block.callId ?? "";
  const call = calls.get(callId);
  if (call === undefined)
    return yield isFirst
      ? faultAt("common-05", block, `the first message is the result of ${callId}: start with a user's text`)
      : faultAt("common-01", block, `no call ${callId} stands before this result: leave it out`);
  if (call.isAnswered)
    return yield faultAt("common-04", block, `call ${callId} has two results: leave the second out`);
  call.isAnswered = true;
  const { turn } = call;
  turn.answers++;
  if (!turn.isInterrupted) return;
  if (turn.answers === 1)
    yield faultAt(
      "common-03",
      block,
      `something stands between call ${callId} and its result: move it behind`,
    );
  else
    yield faultAt(
      "common-02",
      block,
      `the results of one turn are apart: put that of ${callId} to the others, behind their calls`,
    );
}
