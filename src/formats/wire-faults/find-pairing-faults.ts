import type { Fault } from "../../transcript/find-faults.ts";
import { faultAt, type WireBlock, type WireMessage } from "./wire-message.ts";

/**
 * What breaks the pairing of calls and results, whatever the provider: rules common-01 to common-06.
 * A result stands behind the turn of its call with nothing but other results of that turn between.
 */
export function findPairingFaults(messages: readonly WireMessage[]): readonly Fault[] {
  const faults: Fault[] = [];
  const calls = new Map<string, Call>();
  let turn: Turn | undefined;
  let isFirst = true;
  for (const { side, blocks } of messages) {
    for (const block of blocks) {
      if (block.type === "result") {
        const fault = takeResult(block, { calls, isFirst });
        if (fault !== undefined) faults.push(fault);
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
        faults.push(faultAt("common-04", block, `call ${callId} is there twice: give each call its own id`));
      else calls.set(callId, { block, turn, isAnswered: false });
    }
  }
  for (const [callId, { block, isAnswered }] of calls) {
    if (!isAnswered)
      faults.push(
        faultAt("common-06", block, `call ${callId} has no result: add one that says it was interrupted`),
      );
  }
  return faults;
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

function takeResult(
  block: WireBlock,
  { calls, isFirst }: { readonly calls: ReadonlyMap<string, Call>; readonly isFirst: boolean },
): Fault | undefined {
  const callId = block.callId ?? "";
  const call = calls.get(callId);
  if (call === undefined) {
    return isFirst
      ? faultAt("common-05", block, `the first message is the result of ${callId}: start with a user's text`)
      : faultAt("common-01", block, `no call ${callId} stands before this result: leave it out`);
  }
  if (call.isAnswered)
    return faultAt("common-04", block, `call ${callId} has two results: leave the second out`);
  call.isAnswered = true;
  const { turn } = call;
  turn.answers++;
  if (!turn.isInterrupted) return undefined;
  return turn.answers === 1
    ? faultAt("common-03", block, `something stands between call ${callId} and its result: move it behind`)
    : faultAt(
        "common-02",
        block,
        `the results of one turn are apart: put that of ${callId} to the others, behind their calls`,
      );
}
