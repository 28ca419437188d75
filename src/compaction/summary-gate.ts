import { estimateTokens, type TokenEstimator } from "../text/estimate-tokens.ts";
import { fenceQuote, type TextCleaner } from "./summary-clean-text.ts";
import { MERGE_RULE, SECRETS_RULE, SUMMARY_INSTRUCTIONS } from "./summary-prompt.ts";

/** A model's answer as a summary that can be used, or why it cannot. */
export function gateSummary(answer: unknown, options: GateOptions): GateResult {
  if (typeof answer !== "string") return refuse("not-text");
  const { maxTokens, previousSummary, cleaner, estimator = "documented" } = options;
  // A text far too long is not worth cleaning.
  if (answer.length > maxTokens * MAX_CHARS_PER_TOKEN) return refuse("too-long");
  const written = withoutReasoning(answer).trim();
  if (written === "") return refuse("blank");
  if (TOOL_CALL.test(written)) return refuse("tool-call");
  if (isJson(written)) return refuse("not-prose");
  const text = fenceQuote(cleaner.data(written)).trim();
  if (text === "") return refuse("blank");
  if (isRefusal(text)) return refuse("refusal");
  if (isEcho(written, options.prompt)) return refuse("echo");
  if (previousSummary !== undefined && isTwice(text, previousSummary)) return refuse("repeats-itself");
  // What is longer than all it was made from sums nothing up.
  if (options.prompt !== undefined && text.length > options.prompt.length) return refuse("too-long");
  if (estimateTokens(text, { estimator, rounding: "ceil" }) > maxTokens) return refuse("too-long");
  return { status: "accepted", text };
}

export interface GateOptions {
  /** The smaller of 4,000 tokens and a quarter of what the summary replaces. */
  readonly maxTokens: number;
  readonly previousSummary?: string;
  /** What was asked, to know an answer that only gives it back. */
  readonly prompt?: string;
  readonly cleaner: TextCleaner;
  readonly estimator?: TokenEstimator;
}

export type GateResult =
  | { readonly status: "accepted"; readonly text: string }
  | { readonly status: "refused"; readonly reason: GateReason };

export type GateReason =
  | "not-text"
  | "blank"
  | "tool-call"
  | "not-prose"
  | "refusal"
  | "echo"
  | "repeats-itself"
  | "too-long";

/** The longest summary that is ever accepted. */
export const MAX_SUMMARY_TOKENS = 4_000;
/** The largest share of what it replaces that a summary may have. */
export const MAX_SUMMARY_SHARE = 0.25;

const MAX_CHARS_PER_TOKEN = 16;

function refuse(reason: GateReason): GateResult {
  return { status: "refused", reason };
}

/** Some models put their reasoning into the text. */
function withoutReasoning(text: string): string {
  const opening = /^\s*<(think|thinking|reasoning)>/i.exec(text);
  if (opening === null) return text;
  const closing = `</${opening[1]}>`;
  const end = text.toLowerCase().indexOf(closing.toLowerCase());
  return end === -1 ? "" : text.slice(end + closing.length);
}

const TOOL_CALL =
  /^(?:<\|?(?:\w{1,20}:)?(?:tool_calls?|function_calls?|invoke|tool_use)\b|\[TOOL_CALLS?\]|```tool)/i;

function isJson(text: string): boolean {
  const body = /^```(?:json)?\s*\n([\s\S]*)\n```$/.exec(text)?.[1] ?? text;
  if (!/^\s*[[{]/.test(body)) return false;
  try {
    return typeof JSON.parse(body) === "object";
  } catch {
    return false;
  }
}

/** A refusal and nothing else; a summary may well report one. */
function isRefusal(text: string): boolean {
  return text.length <= MAX_REFUSAL_CHARS && !text.includes("##") && REFUSAL.test(text);
}

const MAX_REFUSAL_CHARS = 600;
const REFUSAL =
  /^(?:(?:i['’]m|i am|we['’]re|we are) (?:very |really )?(?:sorry|afraid|unable|not able)|sorry\b|i (?:can['’]?t|cannot|can not|won['’]t|will not|must decline)|unfortunately,? i\b|as an ai\b|i apologi[sz]e)/i;

/** The request given back: one of its rules, or three samples that all stand in it. */
function isEcho(text: string, prompt = ""): boolean {
  if (DIRECTIVES.some((rule) => text.includes(rule))) return true;
  const samples = [0, (text.length - SAMPLE_CHARS) >> 1, text.length - SAMPLE_CHARS].map((start) =>
    text.slice(Math.max(0, start), Math.max(0, start) + SAMPLE_CHARS).trim(),
  );
  return samples.every((sample) => prompt.includes(sample));
}

const DIRECTIVES: readonly string[] = [SECRETS_RULE, SUMMARY_INSTRUCTIONS.slice(0, 100), MERGE_RULE];
const SAMPLE_CHARS = 200;

function isTwice(text: string, previous: string): boolean {
  if (previous.length < MIN_REPEAT_CHARS) return false;
  const first = text.indexOf(previous);
  return first !== -1 && text.includes(previous, first + previous.length);
}

const MIN_REPEAT_CHARS = 40;
