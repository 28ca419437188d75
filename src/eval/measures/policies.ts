import { createLocalSummary } from "../../compaction/summary/local-summary.ts";
import { readPreviousSummary } from "../../compaction/summary/message.ts";
import { createTextCleaner } from "../../compaction/summary/text.ts";
import { forkContext } from "../../fork/fork.ts";
import { shouldUseHeadTail } from "../../text/head-tail.ts";
import { truncate } from "../../text/truncate.ts";
import { isSummary, type Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type Part } from "../../transcript/part.ts";
import { callsOf, outputOf, plainLengths, plainMessages, type ShowCall } from "../probe/history-text.ts";
import { isStep } from "../probe/next-use.ts";

/** A way to carry a conversation over as text: what it keeps of a transcript within a budget. */
export interface EvalPolicy {
  readonly name: string;
  /** One line that says what stays. */
  readonly explain: string;
  /** Gives at most `budgetChars` characters (UTF-16 units) of a transcript, whose messages it must not change. */
  readonly run: (transcript: Transcript, budgetChars: number) => string;
}

/** The fork pipeline with the default profile, as a child would get it. */
export const fill: EvalPolicy = {
  name: "fill",
  explain:
    "the newest messages whole, recent work without repetitions, then old lines by how likely they are needed",
  run: (transcript, budgetChars) => forkContext(transcript, { budgetChars, profile: "default" }).text,
};

/** The policies that come with the measure, baselines first. */
export const BUILT_IN_POLICIES: readonly EvalPolicy[] = [
  {
    name: "last-N",
    explain: "the last characters of the transcript, whatever they are",
    run: (transcript, budgetChars) => lastChars(plainMessages(transcript).join(""), budgetChars),
  },
  {
    name: "uniform-1500",
    explain:
      "every result cut to its first 1,500 characters and every input to 200, then the oldest messages out",
    run: (transcript, budgetChars) => dropOldest(plainMessages(transcript, cutUniformly), budgetChars),
  },
  {
    // Observation masking, as SWE-agent does it.
    name: "mask-10",
    explain:
      "the results of the last 10 steps whole, older ones replaced by a line, then the oldest messages out",
    run(transcript, budgetChars) {
      const newest = transcript.filter(isStep).slice(-10);
      const kept = new Set<Part>(newest.flatMap(({ parts }) => parts));
      return dropOldest(plainMessages(transcript, clearAllBut(kept)), budgetChars);
    },
  },
  {
    // Pruning as OpenCode does it, with the protected amount taken from the budget.
    name: "prune-protect",
    explain:
      "the newest results whole up to 80 % of the budget, older ones replaced by a line, then the oldest messages out",
    run(transcript, budgetChars) {
      const kept = new Set<Part>();
      let chars = 0;
      for (const part of callsOf(transcript).toReversed()) {
        chars += outputOf(part)?.length ?? 0;
        if (chars > 0.8 * budgetChars) break;
        kept.add(part);
      }
      return dropOldest(plainMessages(transcript, clearAllBut(kept)), budgetChars);
    },
  },
  {
    // The strongest of the simple policies.
    name: "hybrid-50",
    explain:
      "the newest messages whole up to half of the budget, older ones with results cut harder the older they are, as long as fits",
    run: hybrid50,
  },
  {
    name: "fixed",
    explain:
      "the documented tiers: 5 results whole, 10 cut to 3,000, older ones to 500, then the oldest messages out",
    run: (transcript, budgetChars) => forkContext(transcript, { budgetChars, profile: "documented" }).text,
  },
  fill,
  {
    // A compaction without a model.
    name: "local-summary",
    explain:
      "the summary without a model: lines chosen as by fill, the lines that edits wrote last, names that are missing there",
    run: summarize,
  },
];

const cutUniformly: ShowCall = (part) => {
  const output = outputOf(part);
  return {
    inputChars: 200,
    output: output && truncate(output, { limitChars: 1500, method: "head" }).text,
  };
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

function hybrid50(transcript: Transcript, budgetChars: number): string {
  const messages = plainMessages(transcript);
  if (sum(messages.map(({ length }) => length)) <= budgetChars) return messages.join("");
  let first = messages.length;
  let tailChars = 0;
  for (; first > 0; first--) {
    const chars = messages[first - 1]?.length ?? 0;
    if (tailChars + chars > 0.5 * budgetChars) break;
    tailChars += chars;
  }
  const head = fitByAge(transcript.slice(0, first), budgetChars - tailChars);
  return head + messages.slice(first).join("");
}

const HEAD_RATIO = 0.7;
const DECAY_PER_CALL = 0.95;
const MIN_RESULT_CHARS = 160;
const RECENT_CALLS = 15;
const RECENT_INPUT_CHARS = 1000;
const OLD_INPUT_CHARS = 300;
/** A newest result longer than this is cut even when there is room. */
const MAX_RESULT_CHARS = 400_000;
const HALVINGS = 18;

/** Cuts results by age, with the largest limit at which the messages fit. */
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

/** The summary without a model for a session that is compacted here; an earlier summary is its previous summary. */
function summarize(transcript: Transcript, budgetChars: number): string {
  if (transcript.length === 0) return "";
  const cleaner = createTextCleaner("off");
  return createLocalSummary({
    messages: transcript.filter((message) => !isSummary(message)),
    previous: readPreviousSummary(transcript.filter(isSummary), cleaner),
    redaction: "off",
  })(budgetChars);
}

/** The newest messages that fit; the end of the newest when not even that one does. */
function dropOldest(messages: readonly string[], budgetChars: number): string {
  return lastChars(newestWithin(messages, budgetChars).join(""), budgetChars);
}

/** The newest messages that fit together, and at least one. */
export function newestWithin(messages: readonly string[], maxChars: number): readonly string[] {
  let totalChars = messages.reduce((total, { length }) => total + length, 0);
  let first = 0;
  while (totalChars > maxChars && first < messages.length - 1) totalChars -= messages[first++]?.length ?? 0;
  return messages.slice(first);
}

/** The last characters of a text. */
export function lastChars(text: string, maxChars: number): string {
  return text.length > maxChars ? text.slice(text.length - maxChars) : text;
}
