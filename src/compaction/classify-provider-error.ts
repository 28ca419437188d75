import type { ProviderErrorClass } from "./provider-errors/error-classes.ts";
import { codeWords, errorWords } from "./provider-errors/error-words.ts";
import { isForOutput } from "./provider-errors/is-for-output.ts";
import { findLookAlike, type Saying } from "./provider-errors/look-alikes.ts";
import { meansOverflowHere } from "./provider-errors/means-overflow-here.ts";
import { plainClass } from "./provider-errors/plain-class.ts";
import { type ProviderErrorEvidence, readProviderError } from "./provider-errors/read-provider-error.ts";
import { readTokenFigures, type TokenFigures } from "./provider-errors/read-token-figures.ts";
import { codeSaysOverflow, saysOverflow } from "./provider-errors/says-overflow.ts";

/**
 * What kind of error a provider sent, and the token counts it gave. Takes the error as it was caught
 * (an Error, a response body, a text, a stream event) and never throws; an error it does not know is
 * never an overflow.
 */
export function classifyProviderError(error: unknown, options: ClassifyOptions = {}): ProviderErrorReport {
  const evidence = readProviderError(error);
  const decision = decide(sayingsOf(evidence), evidence, options.provider ?? evidence.provider ?? "");
  const code = evidence.codes.find((each) => codeSaysOverflow(codeWords(each))) ?? evidence.codes[0];
  return {
    class: decision.class,
    isOverflow: isOverflowClass(decision.class),
    recovery: RECOVERY[decision.class] ?? "none",
    message: messageOf(decision.saying?.raw ?? evidence.texts.at(-1) ?? ""),
    ...(code === undefined ? {} : { code }),
    ...(evidence.statuses[0] === undefined ? {} : { status: evidence.statuses[0] }),
    ...decision.figures,
  };
}

/** True when the provider refused the request because its tokens do not fit. */
export function isContextLengthExceeded(error: unknown, options: ClassifyOptions = {}): boolean {
  return classifyProviderError(error, options).isOverflow;
}

export interface ClassifyOptions {
  /** Who sent it, where known: a few wordings mean an overflow from one provider only. */
  readonly provider?: string;
}

export interface ProviderErrorReport extends TokenFigures {
  readonly class: ProviderErrorClass;
  /** True for the two overflow classes alone. */
  readonly isOverflow: boolean;
  readonly recovery: ErrorRecovery;
  /** The most telling text of the error, shortened; it may hold secrets like any text from outside. */
  readonly message: string;
  readonly code?: string;
  readonly status?: number;
}

/**
 * What helps: `compact` the conversation; `lower-output` first and compact if that is not enough;
 * `drop-media`, since summing up text does not shrink bytes; `fit-rate-limit`, since no waiting helps.
 */
export type ErrorRecovery = "compact" | "lower-output" | "drop-media" | "fit-rate-limit" | "none";

const RECOVERY: Readonly<Partial<Record<ProviderErrorClass, ErrorRecovery>>> = {
  context_overflow: "compact",
  context_overflow_output: "lower-output",
  payload_too_large: "drop-media",
  rate_limit_size: "fit-rate-limit",
};

interface Decision {
  readonly class: ProviderErrorClass;
  readonly saying?: Saying;
  readonly figures?: TokenFigures;
}

/** Machine code, then the look-alikes in their order, then the words of an overflow, then everything else. */
function decide(sayings: readonly Saying[], evidence: ProviderErrorEvidence, provider: string): Decision {
  if (evidence.codes.some((code) => codeSaysOverflow(codeWords(code)))) return overflow(sayings, evidence);
  const lookAlike = findLookAlike(sayings);
  if (lookAlike?.class === "rate_limit") return rateLimit(lookAlike.saying, sayings);
  if (lookAlike !== undefined) return lookAlike;
  const telling = sayings.filter(({ words }) => saysOverflow(words));
  if (telling.length > 0 || meansOverflowHere(evidence, provider)) return overflow(telling, evidence);
  return plain(sayings, evidence);
}

/** An overflow, told by the text that gives the most figures: wrappers repeat a text in part. */
function overflow(
  sayings: readonly Saying[],
  { observedTokens, limitTokens }: ProviderErrorEvidence,
): Decision {
  let [saying] = sayings;
  let said = saying === undefined ? {} : readTokenFigures(saying.words);
  for (const other of sayings.slice(1)) {
    const figures = readTokenFigures(other.words);
    if (Object.keys(figures).length > Object.keys(said).length) [saying, said] = [other, figures];
  }
  const figures: TokenFigures = {
    ...said,
    ...(observedTokens === undefined ? {} : { observedTokens }),
    ...(limitTokens === undefined ? {} : { limitTokens }),
  };
  return {
    class: isForOutput(saying?.words ?? "", figures) ? "context_overflow_output" : "context_overflow",
    ...(saying === undefined ? {} : { saying }),
    figures,
  };
}

/** A request that is larger than the rate limit itself is a class of its own: no waiting helps. */
function rateLimit(saying: Saying, sayings: readonly Saying[]): Decision {
  const figures = readTokenFigures(saying.words);
  const { observedTokens = 0, limitTokens = Number.POSITIVE_INFINITY } = figures;
  const isTooLarge = sayings.some(({ words }) => /\brequest (?:is )?too large\b/.test(words));
  const outgrows =
    observedTokens > limitTokens && /\brequested\b/.test(saying.words) && !/\bused\b/.test(saying.words);
  if (isTooLarge || outgrows) return { class: "rate_limit_size", saying, figures };
  return { class: "rate_limit", saying };
}

function plain(sayings: readonly Saying[], evidence: ProviderErrorEvidence): Decision {
  const words = sayings.map((saying) => saying.words);
  const [saying] = sayings;
  return { class: plainClass(words, evidence.statuses), ...(saying === undefined ? {} : { saying }) };
}

function isOverflowClass(errorClass: ProviderErrorClass): boolean {
  return errorClass === "context_overflow" || errorClass === "context_overflow_output";
}

/** Every text, then every code as words, so that one set of rules reads both; at least one, which may be empty. */
function sayingsOf({ texts, codes, statuses }: ProviderErrorEvidence): readonly Saying[] {
  const spoken = texts.map((raw) => ({ words: errorWords(raw), raw, statuses }));
  const coded = codes.map((code) => ({ words: codeWords(code), raw: code, statuses }));
  return spoken.length + coded.length === 0 ? [{ words: "", raw: "", statuses }] : [...spoken, ...coded];
}

const MAX_MESSAGE_CHARS = 1_000;

function messageOf(text: string): string {
  const cut = text.slice(0, MAX_MESSAGE_CHARS);
  return cut.isWellFormed() ? cut : cut.toWellFormed();
}
