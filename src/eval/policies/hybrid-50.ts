import { shouldUseHeadTail } from "../../text/should-use-head-tail.ts";
import { truncate } from "../../text/truncate.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { EvalPolicy } from "../eval-policy.ts";
import { callsOf, outputOf, plainLengths, plainMessages, type ShowCall } from "../plain-text.ts";
import { dropOldest } from "./drop-oldest.ts";

/** The strongest of the simple ways. */
export const hybrid50: EvalPolicy = {
  name: "hybrid-50",
  explain:
    "the newest messages whole up to half of the budget, older ones with results cut harder the older they are, as long as fits",
  run(transcript, budgetChars) {
    const messages = plainMessages(transcript);
    if (sum(messages.map(({ length }) => length)) <= budgetChars) return messages.join("");
    let first = messages.length;
    let tailChars = 0;
    for (; first > 0; first--) {
      const chars = messages[first - 1]?.length ?? 0;
      if (tailChars + chars > WHOLE_SHARE * budgetChars) break;
      tailChars += chars;
    }
    const head = fitByAge(transcript.slice(0, first), budgetChars - tailChars);
    return head + messages.slice(first).join("");
  },
};

const WHOLE_SHARE = 0.5;
const HEAD_RATIO = 0.7;
const DECAY_PER_CALL = 0.95;
const MIN_RESULT_CHARS = 160;
const RECENT_CALLS = 15;
const RECENT_INPUT_CHARS = 1000;
const OLD_INPUT_CHARS = 300;
/** A newest result longer than this is cut even when there is room. */
const MAX_RESULT_CHARS = 400_000;
const HALVINGS = 18;

/** Messages with the loosest limit on results that lets them fit. */
function fitByAge(transcript: Transcript, budgetChars: number): string {
  if (sum(plainLengths(transcript)) <= budgetChars) return plainMessages(transcript).join("");
  const headTail = new Set(
    callsOf(transcript).filter((part) => shouldUseHeadTail(part.tool, outputOf(part) ?? "")),
  );
  const cutTo =
    (newestChars: number): ShowCall =>
    (part, callsSince) => {
      const output = outputOf(part);
      const limitChars = Math.max(MIN_RESULT_CHARS, newestChars * DECAY_PER_CALL ** callsSince);
      const method = headTail.has(part) ? "head-tail" : "head";
      return {
        inputChars: callsSince < RECENT_CALLS ? RECENT_INPUT_CHARS : OLD_INPUT_CHARS,
        output:
          output &&
          truncate(output, { limitChars, method, headRatio: HEAD_RATIO, tailRatio: 1 - HEAD_RATIO }).text,
      };
    };
  let fits = 0;
  let tooMuch = MAX_RESULT_CHARS;
  for (let round = 0; round < HALVINGS; round++) {
    const middle = (fits + tooMuch) / 2;
    if (sum(plainLengths(transcript, cutTo(middle))) <= budgetChars) fits = middle;
    else tooMuch = middle;
  }
  return dropOldest(plainMessages(transcript, cutTo(fits)), budgetChars);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
