import { collectAnchors } from "../../compaction/summary/anchors.ts";
import { createTextCleaner, piecesOf } from "../../compaction/summary/text.ts";
import { forkContext } from "../../fork/fork.ts";
import { shouldUseHeadTail, truncate } from "../../text/truncate.ts";
import type { Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type Part } from "../../transcript/part.ts";
import { isStep } from "../probe/eval-session.ts";
import { callsOf, outputOf, plainLengths, plainMessages, type ShowCall } from "../probe/history-text.ts";

/** A way to carry a conversation over as text: what it keeps of a transcript within a budget. */
export interface EvalPolicy {
  readonly name: string;
  /** One line that says what stays. */
  readonly explain: string;
  readonly run: EvalPolicyRun;
}

/** Gives at most `budgetChars` characters (UTF-16 units) of a transcript, whose messages it must not change. */
type EvalPolicyRun = (transcript: Transcript, budgetChars: number) => string;

/** The yardstick: whoever is worse than this has no reason to exist. */
export const lastN: EvalPolicy = {
  name: "last-N",
  explain: "the last characters of the transcript, whatever they are",
  run: (transcript, budgetChars) => lastChars(plainMessages(transcript).join(""), budgetChars),
};

/** One limit for all results, whatever their age. */
export const uniform1500: EvalPolicy = {
  name: "uniform-1500",
  explain:
    "every result cut to its first 1,500 characters and every input to 200, then the oldest messages out",
  run: (transcript, budgetChars) =>
    dropOldest(
      plainMessages(transcript, (part) => {
        const output = outputOf(part);
        return {
          inputChars: INPUT_CHARS,
          output: output && truncate(output, { limitChars: RESULT_CHARS, method: "head" }).text,
        };
      }),
      budgetChars,
    ),
};

const RESULT_CHARS = 1500;
const INPUT_CHARS = 200;

/** Observation masking, as SWE-agent does it. */
export const mask10: EvalPolicy = {
  name: "mask-10",
  explain:
    "the results of the last 10 steps whole, older ones replaced by a line, then the oldest messages out",
  run(transcript, budgetChars) {
    const kept = new Set<Part>(lastSteps(transcript).flatMap(({ parts }) => parts));
    return dropOldest(plainMessages(transcript, clearAllBut(kept)), budgetChars);
  },
};

/** Shows the results of these calls and a placeholder for all others; inputs stay whole. */
function clearAllBut(kept: ReadonlySet<Part>): ShowCall {
  return (part) => {
    const output = outputOf(part);
    return {
      inputChars: Number.POSITIVE_INFINITY,
      output: output === undefined || kept.has(part) ? output : CLEARED_PLACEHOLDER,
    };
  };
}

const STEPS = 10;

function lastSteps(transcript: Transcript): Transcript {
  return transcript.filter(isStep).slice(-STEPS);
}

/** Pruning as OpenCode does it, with the protected amount taken from the budget. */
export const pruneProtect: EvalPolicy = {
  name: "prune-protect",
  explain:
    "the newest results whole up to 80 % of the budget, older ones replaced by a line, then the oldest messages out",
  run(transcript, budgetChars) {
    const kept = new Set<Part>();
    let chars = 0;
    for (const part of callsOf(transcript).toReversed()) {
      chars += outputOf(part)?.length ?? 0;
      if (chars > PROTECTED_SHARE * budgetChars) break;
      kept.add(part);
    }
    return dropOldest(plainMessages(transcript, clearAllBut(kept)), budgetChars);
  },
};

const PROTECTED_SHARE = 0.8;

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

/** The documented fork pipeline, as a child would get it. */
const fixed: EvalPolicy = {
  name: "fixed",
  explain:
    "the documented tiers: 5 results whole, 10 cut to 3,000, older ones to 500, then the oldest messages out",
  run(transcript, budgetChars) {
    return forkContext(transcript, { budgetChars, profile: "documented" }).text;
  },
};

/** The fork pipeline that fills its budget, as a child would get it. */
export const fill: EvalPolicy = {
  name: "fill",
  explain:
    "the newest messages whole, recent work without repetitions, then old lines by how likely they are needed",
  run: (transcript, budgetChars) => forkContext(transcript, { budgetChars, profile: "default" }).text,
};

/** A compaction without a model: what `fill` keeps in two thirds of the room, and an index of the names that it lost. */
const fold: EvalPolicy = {
  name: "fold",
  explain:
    "fill in two thirds of the room; in the rest the paths and names that it left out, the most telling first",
  run(transcript, budgetChars) {
    const lines = fill.run(transcript, Math.max(MIN_FILL_CHARS, Math.floor(budgetChars * LINES_SHARE)));
    return lines + nameIndex(transcript, { maxChars: budgetChars - lines.length, lines });
  },
};

const MIN_FILL_CHARS = 512;
const LINES_SHARE = 2 / 3;
const TITLE = "\nAlso seen:";

interface NameIndexOptions {
  readonly maxChars: number;
  readonly lines: string;
}

function nameIndex(transcript: Transcript, { maxChars, lines }: NameIndexOptions): string {
  let index = TITLE;
  for (const { type, text } of collectAnchors([], piecesOf(transcript, createTextCleaner("off")))) {
    if (type !== "path" && type !== "identifier") continue;
    if (index.length + 1 + text.length > maxChars || lines.includes(text)) continue;
    index += ` ${text}`;
  }
  return index === TITLE || index.length > maxChars ? "" : index;
}

/** The newest messages that fit together; the end of the newest when not even that one fits. */
function dropOldest(messages: readonly string[], budgetChars: number): string {
  let totalChars = messages.reduce((sum, message) => sum + message.length, 0);
  let first = 0;
  while (totalChars > budgetChars && first < messages.length - 1)
    totalChars -= messages[first++]?.length ?? 0;
  return lastChars(messages.slice(first).join(""), budgetChars);
}

/** The last characters of a text. */
export function lastChars(text: string, maxChars: number): string {
  return text.length > maxChars ? text.slice(text.length - maxChars) : text;
}

/** The policies that come with the measure, baselines first. */
export const BUILT_IN_POLICIES: readonly EvalPolicy[] = [
  lastN,
  uniform1500,
  mask10,
  pruneProtect,
  hybrid50,
  fixed,
  fill,
  fold,
];
