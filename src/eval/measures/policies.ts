import { collectAnchors } from "../../compaction/summary/anchors.ts";
import { createTextCleaner, piecesOf } from "../../compaction/summary/text.ts";
import { forkContext } from "../../fork/fork.ts";
import { fileChanges, NO_FILES, recordFiles } from "../../stages/file-access.ts";
import { asObject } from "../../text/json.ts";
import { shouldUseHeadTail, truncate } from "../../text/truncate.ts";
import type { Transcript } from "../../transcript/message.ts";
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
    name: "fold",
    explain:
      "fill without empty frames; the lines that edits wrote last; paths and names that are missing there, changed files first",
    run: fold,
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

function fold(transcript: Transcript, budgetChars: number): string {
  const indexChars = Math.min(budgetChars / 3, Math.max(INDEX_CHARS, budgetChars * INDEX_SHARE));
  const linesChars = Math.max(MIN_FILL_CHARS, Math.floor(budgetChars * (1 - WRITTEN_SHARE) - indexChars));
  const lines = fillSqueezed(transcript, linesChars);
  const written = lines + newestWritten(transcript, lines, budgetChars - indexChars - lines.length);
  return written + nameIndex(transcript, written, budgetChars - written.length);
}

/** Room for names: this many characters, or this share of the budget where that is more. */
const INDEX_CHARS = 1_300;
const INDEX_SHARE = 0.12;
/** The share of the budget for lines that edits wrote last. */
const WRITTEN_SHARE = 0.15;
const MIN_FILL_CHARS = 512;
const SQUEEZE_ROUNDS = 3;

/** `fill` with the room that frames without content took given to lines. */
function fillSqueezed(transcript: Transcript, maxChars: number): string {
  let best = "";
  let askChars = Math.floor(maxChars * 1.15);
  for (let round = 0; round < SQUEEZE_ROUNDS; round++) {
    const text = withoutEmptyFrames(fill.run(transcript, askChars));
    if (text.length <= maxChars && text.length > best.length) best = text;
    if (text.length <= maxChars && text.length > 0.97 * maxChars) break;
    askChars = Math.max(MIN_FILL_CHARS, Math.floor((askChars * 0.99 * maxChars) / text.length));
  }
  return best === "" ? fill.run(transcript, maxChars) : best;
}

/** A call says by itself that the agent speaks, and a result that nothing is left of says nothing. */
function withoutEmptyFrames(text: string): string {
  return text.replace(/^\[Tool result\]\n(?:\[\.\.\.\]\n)?/gm, "").replace(/^Agent:\n(?=\[Tool: )/gm, "");
}

/** The newest lines that edits wrote and the kept lines do not contain: what is edited next is mostly among them. */
function newestWritten(transcript: Transcript, lines: string, maxChars: number): string {
  const title = "\nWritten last:\n";
  let leftChars = maxChars - title.length;
  const blocks: string[] = [];
  const known = new Set(lines.split("\n").map((line) => line.trim()));
  for (const part of callsOf(transcript).toReversed()) {
    if (leftChars < MIN_WRITTEN_CHARS) break;
    if (part.outcome.status !== "done" || fileChanges(part).every(({ type }) => type === "read")) continue;
    let block = "";
    for (const line of writtenLines(part.input)) {
      if (line.trim().length < MIN_WRITTEN_LINE_CHARS || known.has(line.trim())) continue;
      if (block.length + line.length + GAP.length + 1 > leftChars) break;
      block += `${line}\n`;
      known.add(line.trim());
    }
    if (block === "") continue;
    blocks.unshift(block);
    leftChars -= block.length + GAP.length;
  }
  return blocks.length === 0 ? "" : title + blocks.join(GAP);
}

const GAP = "[...]\n";
const MIN_WRITTEN_CHARS = 60;
const MIN_WRITTEN_LINE_CHARS = 8;

/** The lines that a call put into files: new text of an edit, content, and what a patch adds or stands beside. */
function writtenLines(input: unknown): readonly string[] {
  const lines: string[] = [];
  const values: [string, unknown][] = [["", input]];
  for (const [key, value] of values) {
    if (typeof value !== "string") values.push(...Object.entries(asObject(value)));
    else if (value.includes("*** Begin Patch"))
      for (const line of value.split("\n")) if (/^[+ ]/.test(line)) lines.push(line.slice(1));
    if (typeof value === "string" && WRITTEN_KEYS.test(key)) lines.push(...value.split("\n"));
  }
  return lines;
}

const WRITTEN_KEYS = /^(?:new_?(?:string|str|text)|contents?|file_text)$/i;

/** Paths and identifiers that the kept lines do not contain; files that were changed come first. */
function nameIndex(transcript: Transcript, lines: string, maxChars: number): string {
  const files = recordFiles(NO_FILES, transcript, (path) => path);
  const anchors = collectAnchors([], piecesOf(transcript, createTextCleaner("off")));
  const root = workingFolder(anchors.flatMap(({ type, text }) => (type === "path" ? [text] : [])));
  let index = "\nAlso seen:";
  const titleChars = index.length;
  const names = [
    ...[...(files.filesCreated ?? []), ...files.filesChanged].toReversed(),
    ...anchors.flatMap(({ type, text }) => (type === "path" || type === "identifier" ? [text] : [])),
  ];
  for (const name of names) {
    const plain = name.replace(/(?::\d+){1,2}$/, "").replace(/^\.\//, "");
    const short = root !== "" && plain.startsWith(root) ? plain.slice(root.length) : plain;
    if (short === "" || lines.includes(short) || index.includes(short)) continue;
    if (index.length + 1 + short.length <= maxChars) index += ` ${short}`;
  }
  return index.length === titleChars || index.length > maxChars ? "" : index;
}

/** The folder that most files which are named in two ways, by their whole path and by a part of it, have in common. */
function workingFolder(paths: readonly string[]): string {
  const relative = new Set(paths.filter((path) => path.includes("/") && !path.startsWith("/")));
  const counts = new Map<string, number>();
  for (const path of paths) {
    if (!path.startsWith("/")) continue;
    for (let at = path.indexOf("/", 1); at !== -1; at = path.indexOf("/", at + 1)) {
      const folder = path.slice(0, at + 1);
      if (relative.has(path.slice(at + 1))) counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? "";
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
