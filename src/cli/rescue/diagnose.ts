import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import { sessionFormatOf } from "../../formats/registry.ts";
import type { ModelRow } from "../../models/model-row.ts";
import { tokenFamilyOf } from "../../models/token-family.ts";
import { measureWindow } from "../../session/recorded-measure.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { clipLine } from "../../text/clip.ts";
import { formatNumber, plural } from "../../text/format-number.ts";
import { estimateContext } from "../../transcript/estimate-context.ts";
import { type Fault, findFaults } from "../../transcript/format.ts";
import {
  compactionPart,
  isAnswer,
  type Message,
  messageText,
  type Transcript,
} from "../../transcript/message.ts";
import { modelWindowOf } from "../../transcript/model-window.ts";
import { SHARE_OF_WINDOW } from "../handoff/deliver.ts";
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
  /** Set where the window is not known, and is taken to be what was refused. */
  readonly isWindowUnknown?: true;
  /** Most tokens of a session that can go on. */
  readonly budgetTokens: number;
}

/** Finds out why a session cannot go on: by its file, by its compactions, by its calls and results, and by its size. */
export function diagnose(
  session: ReadSession,
  { windowTokens, compaction, models }: DiagnosisOptions,
): Diagnosis {
  const { transcript, findings, error, lineOf } = session;
  const lost = lostCompactions(transcript, compaction);
  const kept = lost.length === 0 ? transcript : withoutCompactions(transcript, lost);
  const shown = filterCompacted(transcript);
  const size = measure(transcript, shown);
  const refused = refusalOf(error ?? errorOf(transcript, lineOf));
  const { tokens: assumed } = modelWindowOf(transcript, {
    recordedTokens: session.windowTokens,
    provider: sessionFormatOf(session.format)?.provider,
    rows: models,
  });
  const room = windowTokens === undefined ? believe(refused, assumed, size) : halfOf(windowTokens);
  const all = [
    ...findings,
    ...lost.map(({ marker, why }) => lostFinding(why, lineOf(marker.id.replace(/~marker$/, "")))),
    ...callFindings(shown, lineOf),
    ...(refused === undefined ? [] : [refused.finding]),
    ...sizeFinding(size.tokens, room),
  ];
  const broken = all.filter(({ severity }) => severity === "broken");
  const notes = all.filter(({ severity }) => severity === "note");
  return { findings: [...broken, ...notes], transcript: kept, tokens: size.tokens, ...room };
}

interface DiagnosisOptions {
  /** The window of the model; unset: what the file says, or what is known of the model. */
  readonly windowTokens?: number | undefined;
  readonly models?: readonly ModelRow[] | undefined;
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

/** Why a summary is empty of content; undefined for one that says something. */
function uselessness(summary: Message | undefined, before: number): string | undefined {
  // Where nothing was, nothing is lost.
  if (before === 0) return undefined;
  const text = summary === undefined ? "" : proseOf(messageText(summary));
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
  let running: readonly Finding[] = [];
  for (const { rule, messageId, partIndex } of findFaults(shown)) {
    const [problem, text] = FAULTS[rule] ?? [];
    if (problem === undefined || text === undefined) continue;
    const part = shown.find(({ id }) => id === messageId)?.parts[partIndex ?? 0];
    const line = (part?.type === "tool" ? lineOf(part.callId) : undefined) ?? lineOf(messageId);
    if (problem === "orphan-call" && messageId === lastId) {
      running = runningFinding(line);
      continue;
    }
    const known = found.get(problem);
    if (known === undefined) found.set(problem, { count: 1, text, line });
    else known.count++;
  }
  const counted = [...found].map(
    ([problem, { count, text, line }]): Finding => ({
      problem,
      severity: problem === "empty-text" ? "note" : "broken",
      text: count === 1 ? text : `${text}, and ${plural(count - 1, "more")}`.replace(/mores$/, "more"),
      ...(line !== undefined && { line }),
    }),
  );
  return [...counted, ...running];
}

function runningFinding(line: number | undefined): readonly Finding[] {
  const text = "the last call has no result: it may still be running";
  return [{ problem: "orphan-call", severity: "note", text, ...(line !== undefined && { line }) }];
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
interface Refusal {
  readonly finding: Finding;
  /** True where less would have been taken. */
  readonly isOfSize: boolean;
  /** What the provider takes, and what it counted, where it says so. */
  readonly limitTokens?: number | undefined;
  readonly sentTokens?: number | undefined;
}

function refusalOf(
  error: { readonly lineNumber?: number | undefined; readonly text: string } | undefined,
): Refusal | undefined {
  if (error === undefined) return undefined;
  const report = classifyProviderError(error.text);
  const { status, limitTokens, observedTokens: sentTokens } = report;
  const isOfThought = report.recovery === "leave-out-thoughts";
  const isOfSize = report.isOverflow || TOO_MUCH.includes(report.class) || TOO_LONG.test(error.text);
  if (!isOfSize && !isOfThought && !isBadRequest(error.text, status)) return undefined;
  const of = isOfThought ? " of a thought of the model, which is left out" : "";
  const text = `the last thing in it is a refusal${of}: “${clipLine(error.text, 120)}”`;
  const line = error.lineNumber;
  const finding: Finding = {
    problem: "refused",
    severity: "broken",
    text,
    ...(line !== undefined && { line }),
  };
  return { finding, isOfSize, limitTokens, sentTokens };
}

const TOO_MUCH: readonly string[] = ["payload_too_large", "rate_limit_size"];
const TOO_LONG = /(?:prompt|conversation|request|input) (?:is )?too (?:long|large)|Error during compaction/i;

function isBadRequest(text: string, status: number | undefined): boolean {
  return status === 400 || /\b400\b.*(?:invalid_request_error|messages\.\d|tool_use|thinking)/.test(text);
}

interface Size {
  /** What the provider counted last and what came after, or more where the text is clearly more than that. */
  readonly tokens: number;
  /** What the text comes to by our own count, with reasoning. */
  readonly textTokens: number;
}

function measure(transcript: Transcript, shown: Transcript): Size {
  const model = shown.findLast((message) => message.model !== undefined)?.model;
  const options = {
    estimator: "calibrated" as const,
    ...(model && { family: tokenFamilyOf(model) }),
  };
  const counted = measureWindow(transcript).tokens;
  const uncounted = shown.map(({ usage: _, ...message }) => message);
  const textTokens = estimateContext(uncounted, options).tokens;
  return { tokens: textTokens > counted * DOUBTED ? textTokens : counted, textTokens };
}

/** A provider counts the agent's prompt too: where our count is so much larger, it has not seen what the file holds. */
const DOUBTED = 1.5;

interface Room {
  readonly windowTokens: number;
  /** Set where a provider refused less than is usual, and did not say how much it takes. */
  readonly isWindowUnknown?: true;
  readonly budgetTokens: number;
}

function halfOf(windowTokens: number): Room {
  return { windowTokens, budgetTokens: Math.floor(windowTokens * SHARE_OF_WINDOW) };
}

/**
 * The window, and what may be filled of it. A refusal knows the window better than we do: one with a limit gives it, in
 * tokens as that provider counts them; after one without, what was sent did not fit, and half of it is tried.
 */
function believe(refused: Refusal | undefined, assumed: number, { tokens, textTokens }: Size): Room {
  if (refused?.isOfSize !== true) return halfOf(assumed);
  const { limitTokens, sentTokens = 0 } = refused;
  if (limitTokens === undefined) {
    const windowTokens = Math.min(assumed, tokens);
    return {
      windowTokens,
      ...(tokens <= assumed && { isWindowUnknown: true }),
      budgetTokens: Math.floor(Math.min(windowTokens, textTokens) * SHARE_OF_WINDOW),
    };
  }
  const countedShare = sentTokens > textTokens ? textTokens / sentTokens : 1;
  return {
    windowTokens: limitTokens,
    budgetTokens: Math.floor(limitTokens * SHARE_OF_WINDOW * countedShare),
  };
}

function sizeFinding(tokens: number, { windowTokens, isWindowUnknown }: Room): readonly Finding[] {
  if (tokens <= windowTokens * FULL_SHARE) return [];
  const text = isWindowUnknown
    ? `${formatNumber(tokens)} tokens were refused, and the limit is not known: half of them are tried`
    : `${formatNumber(tokens)} tokens, and the window has ${formatNumber(windowTokens)}: neither the next turn nor a summary of it fits`;
  return [{ problem: "too-long", severity: "broken", text }];
}

/** From here on a compaction has no room to be asked for. */
const FULL_SHARE = 0.98;
