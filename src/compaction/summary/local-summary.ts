import { NO_FILES, recordFiles } from "../../stages/file-access.ts";
import { fillEdits } from "../../stages/lines/fill.ts";
import { readRows } from "../../stages/lines/rows.ts";
import { scoreRows } from "../../stages/lines/score.ts";
import { GAP_MARKER, selectRows } from "../../stages/lines/select.ts";
import { internWords } from "../../stages/lines/words.ts";
import { redactTranscript } from "../../stages/redact.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../../stages/tiers.ts";
import { ELLIPSIS } from "../../text/clip.ts";
import { fence } from "../../text/fence.ts";
import { CHARS_PER_TOKEN, estimateTokens, type TokenEstimator } from "../../text/tokens/estimate-tokens.ts";
import { createRenderer } from "../../transcript/content.ts";
import { applyEdits, runStages } from "../../transcript/edit.ts";
import { charsOf } from "../../transcript/estimate-message.ts";
import { type Message, type Transcript, typedText, withUniqueIds } from "../../transcript/message.ts";
import { collectKeyFacts } from "./key-facts.ts";
import type { PreviousSummary } from "./message.ts";
import {
  createTextCleaner,
  cutCodePoints,
  fenceQuote,
  piecesOf,
  type SecretRedaction,
  SUMMARY_TAGS,
} from "./text.ts";

/**
 * A summary that no model had to write, in at most so many tokens: what was summed up before, the lines of the work that
 * are most likely needed next, what edits wrote last, and names. What users said stands in the facts beside it, and so do
 * files; here only their last request is quoted.
 */
export function localSummary(
  material: LocalSummaryMaterial,
  { maxTokens, estimator }: LocalSummaryOptions,
): string {
  const summarize = createLocalSummary(material);
  let maxChars = maxTokens * CHARS_PER_TOKEN;
  for (;;) {
    const text = summarize(maxChars);
    const tokens = estimateTokens(text, { ...(estimator && { estimator }), rounding: "ceil" });
    if (tokens <= maxTokens || maxChars < MIN_CHARS) return text;
    maxChars = Math.floor(maxChars * Math.min(0.97, maxTokens / tokens));
  }
}

interface LocalSummaryOptions {
  readonly maxTokens: number;
  readonly estimator?: TokenEstimator | undefined;
}

/** What a summary without a model is made of. */
export interface LocalSummaryMaterial {
  /** The messages that are replaced, oldest first. */
  readonly messages: Transcript;
  readonly previous?: PreviousSummary | undefined;
  readonly redaction?: SecretRedaction;
}

const MIN_CHARS = 200;

/** A function that summarizes the same messages into a number of characters; they are read and scored once. */
export function createLocalSummary({
  messages,
  previous,
  redaction = {},
}: LocalSummaryMaterial): (maxChars: number) => string {
  const newest = withUniqueIds(newestWithin(messages, MAX_READ_CHARS));
  const stages = redaction === "off" ? [] : [redactTranscript(redaction)];
  const clean = runStages(newest, stages).transcript;
  const pieces = piecesOf(clean, createTextCleaner("off"));
  const names = namesOf(clean, collectKeyFacts([], pieces));
  const work = readWork(clean);
  const earlier = readEarlier(previous);
  const lastAnswer = fenceQuote(pieces.findLast(({ type }) => type === "assistant")?.text.trim() ?? "");
  return (maxChars) => {
    let text = HEADING;
    const leftChars = (): number => maxChars - text.length;
    const add = (title: string, body: string): void => {
      if (body !== "" && title.length + body.length < leftChars()) text += `${title}\n${body}`;
    };
    const { summary, lines } = earlier;
    const beforeChars = Math.floor(leftChars() * SUMMARY_SHARE);
    if (summary !== "" && beforeChars > MIN_CHARS)
      text += `${BEFORE}\n${cutQuote(summary, beforeChars - FRAME_CHARS)}${SINCE}`;
    const namesChars = Math.min(
      leftChars() * MAX_NAMES_SHARE,
      Math.max(NAMES_CHARS, leftChars() * NAMES_SHARE),
    );
    const workChars = leftChars() - namesChars;
    const old = fence(lastLines(lines, Math.floor(workChars * EARLIER_SHARE)), SUMMARY_TAGS);
    if (old !== "") text += `\n${ELLIPSIS}\n${old}`;
    text += work.select(Math.floor((workChars - old.length) * (1 - WRITTEN_SHARE)));
    if (!text.includes(lastAnswer.slice(0, MIN_CHARS)))
      add(ANSWER, cutQuote(lastAnswer, Math.floor(workChars * ANSWER_SHARE)));
    const room = maxChars - namesChars - text.length;
    add(WRITTEN, newestWritten(work.changes, text, room - WRITTEN.length - 1));
    add(NAMES, unnamed(names, text, leftChars() - NAMES.length - 1));
    return text;
  };
}

/** More than this is not read: lines that are older are never chosen. */
const MAX_READ_CHARS = 1_000_000;
/** Room for names: this many characters, or this share of the room where that is more, and a quarter at most. */
const NAMES_CHARS = 750;
const NAMES_SHARE = 0.12;
const MAX_NAMES_SHARE = 0.25;
/** The share of the room for what edits wrote last, the last answer, a model's earlier summary, and lines of an earlier local summary. */
const WRITTEN_SHARE = 0.15;
const ANSWER_SHARE = 0.1;
const SUMMARY_SHARE = 0.3;
const EARLIER_SHARE = 0.15;

const HEADING = `Lines of earlier work; ${ELLIPSIS} stands for gaps.`;
const BEFORE = "\n\n## Summed up before";
const SINCE = "\n\n## Since then";
const ANSWER = "\n\n## Last answer";
const WRITTEN = "\n\n## Written last";
const NAMES = "\n\n## Also seen";
/** Two headings, and the line where a text was cut. */
const FRAME_CHARS = 90;

/** What an earlier compaction left: the summary of a model, and the lines of local summaries since then, without their headings. */
function readEarlier(previous: PreviousSummary | undefined): {
  readonly summary: string;
  readonly lines: string;
} {
  if (previous === undefined) return { summary: "", lines: "" };
  if (previous.localText === undefined) return { summary: previous.prose, lines: "" };
  const text = previous.localText;
  const ends = [ANSWER, WRITTEN, NAMES].map((title) => text.lastIndexOf(title)).filter((at) => at !== -1);
  const work = text.slice(0, Math.min(text.length, ...ends));
  const body = work.slice(Math.max(0, work.indexOf("\n")));
  const since = body.indexOf(SINCE);
  return body.startsWith(BEFORE) && since !== -1
    ? { summary: body.slice(BEFORE.length, since).trim(), lines: body.slice(since + SINCE.length) }
    : { summary: "", lines: body };
}

/** A cut may leave nothing but the name of a speaker on a line. */
function cutQuote(text: string, maxChars: number): string {
  return fenceQuote(cutCodePoints(text, maxChars));
}

/** The newest whole lines of a text that fit. */
function lastLines(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text.trim();
  const start = text.indexOf("\n", text.length - maxChars);
  return start === -1 ? "" : text.slice(start).trim();
}

function newestWithin(messages: Transcript, maxChars: number): Transcript {
  let chars = 0;
  let start = messages.length;
  while (start > 0) {
    chars += charsOf(messages[start - 1] as Message);
    if (chars > maxChars && start < messages.length) break;
    start--;
  }
  return messages.slice(start);
}

/** The work in messages: the lines that are most likely needed next, and what edits wrote, oldest first. */
function readWork(messages: Transcript): Work {
  const last = messages.findLastIndex(isTyped);
  const shown = messages.filter(
    (message, index) => index === last || !(isTyped(message) || isInjected(message)),
  );
  const fill = readRows(shown);
  const scores = scoreRows(fill, internWords(fill));
  const render = createRenderer();
  const write = (transcript: Transcript): string =>
    fence(
      withoutEmptyFrames(transcript.map((message) => unlabelled(render(message))).join("")),
      SUMMARY_TAGS,
    );
  const whole = write(shown);
  const select = (maxChars: number): string => {
    if (whole.length <= maxChars) return whole;
    let best = "";
    // What is written takes less than is counted: frames without content are left out.
    let askChars = maxChars * 1.25;
    for (let round = 0; round < ROUNDS && askChars >= 1; round++) {
      const selection = selectRows(fill, scores, {
        render,
        neverCutTools: FORK_NO_TRUNCATION_TOOLS,
        maxChars: askChars,
      });
      const text = write(applyEdits(shown, fillEdits(fill, selection), { at: 0 }));
      if (text.length <= maxChars && text.length > best.length) best = text;
      if (text.length <= maxChars && text.length > 0.97 * maxChars) break;
      askChars = Math.floor((askChars * 0.99 * maxChars) / text.length);
    }
    return best === "" && maxChars > 0 ? `\n${lastLines(whole, maxChars - 1)}` : best;
  };
  return { select, changes: fill.segments.flatMap(({ source, text }) => (source === "change" ? text : [])) };
}

interface Work {
  /** In at most so many characters. */
  readonly select: (maxChars: number) => string;
  readonly changes: readonly string[];
}

const ROUNDS = 5;

/** A message without the line that says who speaks: the words of the user that count stand among the facts. */
function unlabelled(rendered: string): string {
  return rendered.replace(/^\n[^\n]*/, "");
}

function isTyped(message: Message): boolean {
  return message.role === "user" && typedText(message) !== "";
}

/** True for text that the agent's program wrote in the user's name, such as that of a skill: here it would be an order without a speaker. */
function isInjected({ role, parts }: Message): boolean {
  return role === "user" && parts.every((part) => part.type === "text" && part.synthetic);
}

/** The text of messages without what says nothing: frames of results, gaps at their ends, inputs of which no line is left, and folders of files that were named before. */
function withoutEmptyFrames(text: string): string {
  const known = new Set<string>();
  return text
    .replace(/^\[Tool result\]\n(?:\[\.\.\.\]\n)?/gm, "")
    .replace(/^\[\.\.\.\]\n(?=\[Tool: )/gm, "")
    .replace(/^\[Tool: .*$/gm, (line) =>
      line
        .replace(/"replace_?all":false,?/i, "")
        .replace(/"(?:old|new)_?(?:string|str|text)":"\[\.\.\.\]",?/gi, "")
        .replace(/"(?:\/[\w.@+-]+)+\/([\w@+-][\w.@+-]*\.\w+)"/g, (path, name: string) => {
          if (known.has(path)) return `"${name}"`;
          known.add(path);
          return path;
        }),
    )
    .replaceAll(`\n${GAP_MARKER}\n`, `\n${ELLIPSIS}\n`);
}

/** The newest lines that edits wrote and the text does not contain: what is edited next is mostly among them. */
function newestWritten(changes: readonly string[], text: string, maxChars: number): string {
  let leftChars = maxChars;
  const blocks: string[] = [];
  const known = new Set(text.split("\n").map((line) => line.trim()));
  for (const change of changes.toReversed()) {
    if (leftChars < MIN_WRITTEN_CHARS) break;
    let block = "";
    for (const written of writtenLines(change)) {
      const line = fenceQuote(written);
      const bare = line.trim();
      if (bare.length < MIN_WRITTEN_LINE_CHARS || known.has(bare)) continue;
      if (block.length + line.length + GAP.length + 1 > leftChars) break;
      block += `${line}\n`;
      known.add(bare);
    }
    if (block === "") continue;
    blocks.unshift(block);
    leftChars -= block.length + GAP.length;
  }
  return blocks.join(GAP).trimEnd();
}

const GAP = `${ELLIPSIS}\n`;
const MIN_WRITTEN_CHARS = 60;
const MIN_WRITTEN_LINE_CHARS = 8;

/** The lines of what a call put into a file; of a patch those that it adds or stands beside. */
function writtenLines(text: string): readonly string[] {
  const lines = text.split("\n");
  if (!text.includes("*** Begin Patch")) return lines;
  return lines.filter((line) => /^[+ ]/.test(line)).map((line) => line.slice(1));
}

/** Paths and identifiers of messages, files that were changed first, each by its path from the folder of the work. */
function namesOf(messages: Transcript, keyFacts: ReturnType<typeof collectKeyFacts>): readonly string[] {
  const files = recordFiles(NO_FILES, messages, (path) => path);
  const root = workingFolder(keyFacts.flatMap(({ type, text }) => (type === "path" ? [text] : [])));
  return [
    ...[...(files.filesCreated ?? []), ...files.filesChanged].toReversed(),
    ...keyFacts.flatMap(({ type, text }) => (type === "path" || type === "identifier" ? [text] : [])),
  ].map((name) => {
    const plain = name.replace(/(?::\d+){1,2}$/, "").replace(/^\.\//, "");
    return fenceQuote(root !== "" && plain.startsWith(root) ? plain.slice(root.length) : plain);
  });
}

/** The names that a text does not contain, as many as fit. */
function unnamed(names: readonly string[], text: string, maxChars: number): string {
  let index = "";
  for (const name of names)
    if (
      name !== "" &&
      index.length + 1 + name.length <= maxChars &&
      !text.includes(name) &&
      !index.includes(name)
    )
      index += index === "" ? name : ` ${name}`;
  return index;
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
