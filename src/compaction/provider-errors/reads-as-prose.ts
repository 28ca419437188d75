import { anyOf } from "./any-of.ts";

/** True for talk about errors instead of an error: a sentence of a person or a model, a list of wordings, source code. */
export function readsAsProse(words: string, raw: string): boolean {
  if (OPENING.test(words) || FIRST_PERSON.test(raw) || SOURCE.test(raw) || QUOTING.test(raw)) return true;
  return SIGNATURES.filter((signature) => words.includes(signature)).length >= MANY_SIGNATURES;
}

const OPENING = anyOf(
  /^(?:lets?|let us|heres?|here (?:is|are)|how|why|what|looking at|maybe|perhaps)\b/,
  /^please (?:investigate|debug|fix|explain)\b|^something is causing\b|^to (?:fix|debug|detect|handle|avoid)\b/,
  /^(?:the|this) (?:mystery|following|list|table|file|test|page|article|function|docs?|documentation|catalogue|user (?:asked|wants|is)|agent|bug|issue)\b/,
  /^we(?:re| are|ve| have)? (?:debug\w*|investigat\w*|looking|reading|checking|seeing|tried|fixed|added|wrote)\b/,
);

/** A provider speaks of itself as "we", if at all. */
const FIRST_PERSON =
  /\bI(?:['’](?:ve|m|ll)| am| have| will)? (?:am|have|read|reading|found|saw|see|check\w*|added|think|need|was|look\w*|debug\w*|investigat\w*|tried|fixed|wrote)\b/;

const SOURCE = anyOf(
  /```|\\[dsw][+*]|\/[igmu]{1,3}[,;)\]]|\bconst \w+ ?[:=]|\bfunction \w+\(|=> ?\{|\bexport (?:const|function)\b|\.test\(/,
  /(?:^|\n)\s*\|.*\|.*\||(?:^|\n)#{1,4} |(?:^|\n)\s*[-*] .*\n\s*[-*] /,
  /^\$? ?(?:grep|rg|cat|sed|git) /,
);

const QUOTING = /\b(?:lists|mentions|matches|documents|catalogues|describes)\b.{0,60}["'`“]/;

/** One error uses one or two of these wordings of different vendors, a list of errors uses many. */
const MANY_SIGNATURES = 4;
const SIGNATURES: readonly string[] = [
  "prompt is too long",
  "input is too long",
  "exceeds the context window",
  "exceeds the available context size",
  "exceeds the limit of",
  "exceeded model token limit",
  "maximum context length",
  "maximum prompt length",
  "maximum number of tokens",
  "context_length_exceeded",
  "context length exceeded",
  "context window exceeds limit",
  "greater than the context length",
  "reduce the length of the messages",
  "too many tokens",
  "token limit exceeded",
  "request_too_large",
];
