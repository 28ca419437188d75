import type { ProviderErrorClass } from "./provider-errors/error-classes.ts";
import { codeWords, errorWords } from "./provider-errors/error-words.ts";
import { findLookAlike, type Saying } from "./provider-errors/look-alikes.ts";
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
  const provider = (options.provider ?? evidence.provider ?? "").toLowerCase();
  const sayings = sayingsOf(evidence);
  const decision = decide(sayings, evidence, provider);
  const figures = decision.figures ?? {};
  const code = evidence.codes.find((each) => codeSaysOverflow(codeWords(each))) ?? evidence.codes[0];
  return {
    class: decision.class,
    isOverflow: isOverflowClass(decision.class),
    recovery: RECOVERY[decision.class] ?? "none",
    message: messageOf(decision.saying?.raw ?? evidence.texts.at(-1) ?? ""),
    ...(code === undefined ? {} : { code }),
    ...(evidence.statuses[0] === undefined ? {} : { status: evidence.statuses[0] }),
    ...figures,
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
  const overflowing = sayings.find(({ words }) => saysOverflow(words)) ?? sayings.at(-1);
  if (evidence.codes.some((code) => codeSaysOverflow(codeWords(code))))
    return overflow(overflowing, evidence);
  const lookAlike = findLookAlike(sayings);
  if (lookAlike?.class === "rate_limit") return rateLimit(lookAlike.saying, sayings);
  if (lookAlike !== undefined) return lookAlike;
  const said = sayings.find(({ words }) => saysOverflow(words));
  if (said !== undefined) return overflow(said, evidence);
  if (meansOverflowHere(sayings, evidence, provider)) return overflow(undefined, evidence);
  return plain(sayings, evidence);
}

function overflow(saying: Saying | undefined, evidence: ProviderErrorEvidence): Decision {
  const figures: TokenFigures = {
    ...(saying === undefined ? {} : readTokenFigures(saying.words)),
    ...fieldFigures(evidence),
  };
  return {
    class: isForOutput(saying, figures) ? "context_overflow_output" : "context_overflow",
    ...(saying === undefined ? {} : { saying }),
    figures,
  };
}

function fieldFigures({ observedTokens, limitTokens }: ProviderErrorEvidence): TokenFigures {
  return {
    ...(observedTokens === undefined ? {} : { observedTokens }),
    ...(limitTokens === undefined ? {} : { limitTokens }),
  };
}

/** The input alone would fit: asking for a shorter answer may be enough. */
function isForOutput(
  saying: Saying | undefined,
  { inputTokens, outputTokens, limitTokens }: TokenFigures,
): boolean {
  if (
    outputTokens === 0 ||
    (inputTokens !== undefined && limitTokens !== undefined && inputTokens >= limitTokens)
  )
    return false;
  return outputTokens !== undefined || (saying !== undefined && INPUT_PLUS_OUTPUT.test(saying.words));
}

const INPUT_PLUS_OUTPUT =
  /\b(?:inputs?|prompt|messages?)(?: length| size)?(?: tokens?)? ?(?:and|\+|plus) ?(?:the )?(?:requested |maximum |max )?(?:max_\w*tokens|max tokens|output|completion|prediction|generat\w+|new tokens)|\bmax_\w*tokens\b (?:\([^)]*\) )?(?:would |will )?exceeds?\b|\bmax_\w*tokens\b ?(?:\([^)]*\) ?)?(?:and|\+|plus) ?(?:the )?(?:inputs?|prompt|messages?)/;

function rateLimit(saying: Saying, sayings: readonly Saying[]): Decision {
  const figures = readTokenFigures(saying.words);
  const { observedTokens, limitTokens } = figures;
  const isTooLarge = sayings.some(({ words }) => /\brequest (?:is )?too large\b/.test(words));
  const outgrows =
    observedTokens !== undefined &&
    limitTokens !== undefined &&
    observedTokens > limitTokens &&
    /\brequested\b/.test(saying.words) &&
    !/\bused\b/.test(saying.words);
  if (isTooLarge || outgrows) return { class: "rate_limit_size", saying, figures };
  return { class: "rate_limit", saying };
}

/** Wordings that say too little to mean an overflow from anyone but the provider named. */
function meansOverflowHere(
  sayings: readonly Saying[],
  { codes, statuses }: ProviderErrorEvidence,
  provider: string,
): boolean {
  const says = (wording: RegExp): boolean => sayings.some(({ words }) => wording.test(words));
  if (/cerebras/.test(provider)) {
    const hasNoBody = says(/\(no body\)/) || sayings.every(({ words }) => words === "");
    return hasNoBody && (statuses.includes(400) || statuses.includes(413));
  }
  if (/\btgi\b|hugging ?face|text-generation/.test(provider)) return says(/\blength limit exceeded\b/);
  if (/zhipu|\bz\.?ai\b|bigmodel|glm/.test(provider)) return codes.includes("1261");
  return false;
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
