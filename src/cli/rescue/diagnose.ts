import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { clipLine, plural } from "../../text/display.ts";
import { estimateContext } from "../../transcript/estimate-context.ts";
import { type Fault, findFaults } from "../../transcript/format.ts";
import { compactionPart, isAnswer, type Message, type Transcript, textOf } from "../../transcript/message.ts";
import { WINDOW_TOKENS } from "../handoff/deliver.ts";
import { formatNumber } from "../terminal/output.ts";
import type { Finding, Problem } from "./lines/session-lines.ts";
import type { ReadSession } from "./read-session.ts";

/** What is wrong with a session, and what can go on of it. */
export interface Diagnosis {
  /** What stops it first, then what is only worth knowing. */
  readonly findings: readonly Finding[];
  /** The conversation with what a useless compaction had taken away. */
  readonly transcript: Transcript;
  /** What the program would send, as far as it is known. */
  readonly tokens: number;
  readonly windowTokens: number;
}

/** Finds out why a session cannot go on: by its file, by its compactions, by its calls and results, and by its size. */
export function diagnose(session: ReadSession, { windowTokens, compaction }: DiagnosisOptions): Diagnosis {
  const { transcript, findings, error, lineOf } = session;
  const lost = lostCompactions(transcript, compaction);
  const kept = lost.length === 0 ? transcript : withoutCompactions(transcript, lost);
  const shown = filterCompacted(transcript);
  const { tokens } = estimateContext(shown, { estimator: "calibrated" });
  const window = windowTokens ?? session.windowTokens ?? usualWindow(transcript, session.format);
  const all = [
    ...findings,
    ...lost.map(({ marker, why }) => lostFinding(why, lineOf(marker.id.replace(/~marker$/, "")))),
    ...callFindings(shown, lineOf),
    ...refusal(error ?? errorOf(transcript, lineOf)),
    ...sizeFinding(tokens, window),
  ];
  const broken = all.filter(({ severity }) => severity === "broken");
  const notes = all.filter(({ severity }) => severity === "note");
  return { findings: [...broken, ...notes], transcript: kept, tokens, windowTokens: window };
}

export interface DiagnosisOptions {
  /** The window of the model; unset: what the file says, or what is usual. */
  readonly windowTokens?: number | undefined;
  /** `undo`: what stood before the newest compaction comes back, whatever its summary says. */
  readonly compaction: "judge" | "undo";
}

interface LostCompaction {
  readonly marker: Message;
  readonly summary: Message | undefined;
  readonly why: string;
}

/** The compactions at the end of which nothing is left of what was said. */
function lostCompactions(transcript: Transcript, compaction: "judge" | "undo"): readonly LostCompaction[] {
  const lost: LostCompaction[] = [];
  const newest = transcript.findLastIndex((message) => compactionPart(message) !== undefined);
  for (const [index, marker] of transcript.entries()) {
    if (compactionPart(marker) === undefined) continue;
    const next = transcript[index + 1];
    const summary =
      transcript.find(({ summary: isSummary, parentId }) => isSummary && parentId === marker.id) ??
      (next?.summary === true ? next : undefined);
    const isUndone = compaction === "undo" && index === newest;
    const why = isUndone ? "it is taken back, as you asked" : uselessness(summary, index);
    if (why !== undefined) lost.push({ marker, summary, why });
  }
  return lost;
}

/** Why a summary is none; undefined for one that says something. */
function uselessness(summary: Message | undefined, before: number): string | undefined {
  // Where nothing was, nothing is lost.
  if (before === 0) return undefined;
  const text = summary === undefined ? "" : proseOf(textOf(summary));
  if (summary?.error !== undefined) return `its summary failed (${clipLine(summary.error.text, 80)})`;
  const opaque = summary?.parts.some(({ type }) => type === "opaque" || type === "tool") === true;
  if (text === "") return opaque ? undefined : "its summary is empty";
  if (text.length < MAX_ERROR_CHARS && ERROR_TEXT.test(text)) return `its summary is “${clipLine(text, 80)}”`;
  return undefined;
}

const MAX_ERROR_CHARS = 400;
/** What programs took for a summary when the model did not write one. */
const ERROR_TEXT =
  /^(?:API Error\b|Error\b|Request timed out|\(?no content\)?$|No response requested|Prompt is too long|Conversation too long|Credit balance)|usage limit reached|hit your (?:usage |session |weekly )?limit|rate limit|overloaded|\b(?:429|500|529)\b.*error/i;

/** A summary without what the program says around it. */
function proseOf(text: string): string {
  return text
    .replace(
      /^This session is being continued from a previous conversation[\s\S]*?(?:summarized below:|Summary:|conversation\.)/,
      "",
    )
    .replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, "")
    .replace(/^\s*Summary:/, "")
    .replace(
      /\n(?:If you need specific details|Please continue the conversation|Continue the conversation)[\s\S]*$/,
      "",
    )
    .trim();
}

function lostFinding(why: string, line: number | undefined): Finding {
  const text = `a compaction took away what was said before: ${why}`;
  return { problem: "lost-compaction", severity: "broken", text, ...(line !== undefined && { line }) };
}

function withoutCompactions(transcript: Transcript, lost: readonly LostCompaction[]): Transcript {
  const gone = new Set(lost.flatMap(({ marker, summary }) => [marker, ...(summary ? [summary] : [])]));
  return transcript.filter((message) => !gone.has(message));
}

const FAULTS: Readonly<Partial<Record<Fault["rule"], readonly [Problem, string]>>> = {
  "call-without-result": ["orphan-call", "a call without a result"],
  "result-without-call": ["orphan-result", "a result without a call"],
  "call-id-repeated": ["repeated-call", "calls with the same id"],
  "empty-text": ["empty-text", "an empty text"],
};

/** What a provider would refuse, each kind once. A call at the end may still be running. */
function callFindings(shown: Transcript, lineOf: ReadSession["lineOf"]): readonly Finding[] {
  const lastId = shown.findLast(isAnswer)?.id;
  const found = new Map<Problem, { count: number; text: string; line: number | undefined }>();
  for (const { rule, messageId, partIndex } of findFaults(shown)) {
    const [problem, text] = FAULTS[rule] ?? [];
    if (problem === undefined || text === undefined) continue;
    if (problem === "orphan-call" && messageId === lastId) continue;
    const part = shown.find(({ id }) => id === messageId)?.parts[partIndex ?? 0];
    const line = (part?.type === "tool" ? lineOf(part.callId) : undefined) ?? lineOf(messageId);
    const known = found.get(problem);
    if (known === undefined) found.set(problem, { count: 1, text, line });
    else known.count++;
  }
  return [...found].map(([problem, { count, text, line }]) => ({
    problem,
    severity: problem === "empty-text" ? "note" : "broken",
    text: count === 1 ? text : `${text}, and ${plural(count - 1, "more")}`.replace(/mores$/, "more"),
    ...(line !== undefined && { line }),
  }));
}

/** The error of the newest answer, where the format keeps it in the conversation. */
function errorOf(
  transcript: Transcript,
  lineOf: ReadSession["lineOf"],
): { readonly lineNumber?: number | undefined; readonly text: string } | undefined {
  const last = transcript.findLast(({ role }) => role === "assistant");
  return last?.error && { text: last.error.text, lineNumber: lineOf(last.id) };
}

/** A refusal that comes again with every request: of a prompt that is too long, or of a history that is malformed. */
function refusal(
  error: { readonly lineNumber?: number | undefined; readonly text: string } | undefined,
): readonly Finding[] {
  if (error === undefined) return [];
  const { isOverflow, class: kind, status } = classifyProviderError(error.text);
  const isOurs =
    isOverflow ||
    kind === "payload_too_large" ||
    TOO_LONG.test(error.text) ||
    isBadRequest(error.text, status);
  if (!isOurs) return [];
  const text = `the last thing in it is a refusal: “${clipLine(error.text, 120)}”`;
  const line = error.lineNumber;
  return [{ problem: "refused", severity: "broken", text, ...(line !== undefined && { line }) }];
}

const TOO_LONG = /(?:prompt|conversation|request|input) (?:is )?too (?:long|large)|Error during compaction/i;

function isBadRequest(text: string, status: number | undefined): boolean {
  return status === 400 || /\b400\b.*(?:invalid_request_error|messages\.\d|tool_use|thinking)/.test(text);
}

function sizeFinding(tokens: number, windowTokens: number): readonly Finding[] {
  if (tokens <= windowTokens * FULL_SHARE) return [];
  const text = `${formatNumber(tokens)} tokens, and the window has ${formatNumber(windowTokens)}: neither the next turn nor a summary of it fits`;
  return [{ problem: "too-long", severity: "broken", text }];
}

/** From here on a compaction has no room to be asked for. */
const FULL_SHARE = 0.98;

/** The usual window of an agent's model; the large one where a request was larger than that already. */
function usualWindow(transcript: Transcript, format: ReadSession["format"]): number {
  const usual = WINDOW_TOKENS[format === "codex" ? "codex" : "claude-code"];
  const seen = transcript.reduce((most, { usage }) => Math.max(most, inputOf(usage)), 0);
  return seen > usual ? LARGE_WINDOW : usual;
}

const LARGE_WINDOW = 1_000_000;

function inputOf(usage: Message["usage"]): number {
  return usage === undefined ? 0 : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}
