import { anyOf, codeWords, errorWords, readTokenFigures, type TokenFigures } from "./error-words.ts";
import { type ErrorStatement, findLookAlike, type ProviderErrorClass } from "./look-alikes.ts";
import { type ProviderErrorEvidence, readProviderError } from "./read-provider-error.ts";
import { codeSaysOverflow, saysOverflow } from "./says-overflow.ts";

/**
 * What kind of error a provider sent, and the token counts it gave. Takes the error as it was caught
 * (an Error, a response body, a text, a stream event) and never throws; an error it does not know is
 * never an overflow.
 */
export function classifyProviderError(error: unknown, options: ClassifyOptions = {}): ProviderErrorReport {
  const evidence = readProviderError(error);
  const decision = decide(statementsOf(evidence), evidence, options.provider ?? evidence.provider ?? "");
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
 * What helps: `omitUndefined` the conversation; `lower-output` first and compact if that is not enough;
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
  readonly saying?: ErrorStatement;
  readonly figures?: TokenFigures;
}

/** Machine code, then the look-alikes in their order, then the words of an overflow, then everything else. */
function decide(
  sayings: readonly ErrorStatement[],
  evidence: ProviderErrorEvidence,
  provider: string,
): Decision {
  if (evidence.codes.some((code) => codeSaysOverflow(codeWords(code))))
    return overflowDecision(sayings, evidence);
  const lookAlike = findLookAlike(sayings);
  if (lookAlike?.class === "rate_limit") return rateLimitDecision(lookAlike.saying, sayings);
  if (lookAlike !== undefined) return lookAlike;
  const telling = sayings.filter(({ words }) => saysOverflow(words));
  if (telling.length > 0 || isProviderSpecificOverflow(evidence, provider))
    return overflowDecision(telling, evidence);
  return fallbackDecision(sayings, evidence);
}

/** An overflow, told by the text that gives the most figures: wrappers repeat a text in part. */
function overflowDecision(
  sayings: readonly ErrorStatement[],
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
    class: isCausedByOutputReserve(saying?.words ?? "", figures)
      ? "context_overflow_output"
      : "context_overflow",
    ...(saying === undefined ? {} : { saying }),
    figures,
  };
}

/** A request that is larger than the rate limit itself is a class of its own: no waiting helps. */
function rateLimitDecision(saying: ErrorStatement, sayings: readonly ErrorStatement[]): Decision {
  const figures = readTokenFigures(saying.words);
  const { observedTokens = 0, limitTokens = Number.POSITIVE_INFINITY } = figures;
  const isTooLarge = sayings.some(({ words }) => /\brequest (?:is )?too large\b/.test(words));
  const outgrows =
    observedTokens > limitTokens && /\brequested\b/.test(saying.words) && !/\bused\b/.test(saying.words);
  if (isTooLarge || outgrows) return { class: "rate_limit_size", saying, figures };
  return { class: "rate_limit", saying };
}

function fallbackDecision(sayings: readonly ErrorStatement[], evidence: ProviderErrorEvidence): Decision {
  const words = sayings.map((saying) => saying.words);
  const [saying] = sayings;
  return { class: fallbackClass(words, evidence.statuses), ...(saying === undefined ? {} : { saying }) };
}

function isOverflowClass(errorClass: ProviderErrorClass): boolean {
  return errorClass === "context_overflow" || errorClass === "context_overflow_output";
}

/** Every text, then every code as words, so that one set of rules reads both; at least one, which may be empty. */
function statementsOf({ texts, codes, statuses }: ProviderErrorEvidence): readonly ErrorStatement[] {
  const spoken = texts.map((raw) => ({ words: errorWords(raw), raw, statuses }));
  const coded = codes.map((code) => ({ words: codeWords(code), raw: code, statuses }));
  return spoken.length + coded.length === 0 ? [{ words: "", raw: "", statuses }] : [...spoken, ...coded];
}

const MAX_MESSAGE_CHARS = 1_000;

function messageOf(text: string): string {
  const cut = text.slice(0, MAX_MESSAGE_CHARS);
  return cut.isWellFormed() ? cut : cut.toWellFormed();
}

/** True when the input alone would fit, so that asking for a shorter answer may be enough. */
function isCausedByOutputReserve(
  words: string,
  { inputTokens, outputTokens, limitTokens }: TokenFigures,
): boolean {
  if (outputTokens === 0) return false;
  if (inputTokens !== undefined && limitTokens !== undefined && inputTokens >= limitTokens) return false;
  return outputTokens !== undefined || INPUT_PLUS_OUTPUT.test(words);
}

const INPUT_PLUS_OUTPUT = anyOf(
  /\b(?:inputs?|prompt|messages?)(?: length| size)?(?: tokens?)? ?(?:and|\+|plus) ?(?:the )?(?:requested |maximum |max )?(?:max_\w*tokens|max tokens|output|completion|prediction|generat\w+|new tokens)/,
  /\bmax_\w*tokens\b ?(?:\([^)]*\) ?)?(?:and|\+|plus) ?(?:the )?(?:inputs?|prompt|messages?)/,
  /\bmax_\w*tokens\b (?:\([^)]*\) )?(?:would |will )?exceeds?\b/,
);

/** True for what says too little to mean an overflow from anyone but the provider that sent it. */
function isProviderSpecificOverflow(
  { texts, codes, statuses }: ProviderErrorEvidence,
  provider: string,
): boolean {
  const says = (wording: RegExp): boolean => texts.some((text) => wording.test(text));
  if (/cerebras/i.test(provider)) {
    const hasNoBody = texts.length === 0 || says(/\(no body\)/i);
    return hasNoBody && (statuses.includes(400) || statuses.includes(413));
  }
  if (/\btgi\b|hugging ?face|text-generation/i.test(provider)) return says(/\blength limit exceeded\b/i);
  return /zhipu|\bz\.?ai\b|bigmodel|glm/i.test(provider) && codes.includes("1261");
}

/** The class of an error that is neither an overflow nor a look-alike: by its words, then by its statuses. */
function fallbackClass(words: readonly string[], statuses: readonly number[]): ProviderErrorClass {
  const says = (rule: RegExp): boolean => words.some((each) => rule.test(each));
  const has = (...wanted: readonly number[]): boolean => statuses.some((status) => wanted.includes(status));
  if (says(PAYLOAD) || has(413)) return "payload_too_large";
  if (says(OVERLOADED) || has(529)) return "overloaded";
  if (says(TIMEOUT) || has(408, 504)) return "timeout";
  if (says(SERVER) || statuses.some((status) => status >= 500)) return "server";
  if (has(401, 403)) return "auth";
  if (has(404)) return "config";
  return says(INVALID) || statuses.some((status) => status >= 400) ? "invalid_request" : "unknown";
}

const PAYLOAD = anyOf(
  /\b(?:request|body|payload|entity|content|message|upload|file)(?: (?:entity|body|payload|content|size))*(?: is)? (?:was )?too (?:large|big)\b/,
  /\b(?:request|body|payload|message|upload|file)s?(?: (?:body|payload|content))?(?: size)? (?:exceeds?|exceeded|larger|is larger|over)\b/,
  /\b(?:bytes|megabytes|[kmg]i?b)\b.{0,60}\b(?:limit|max\w*|exceed\w*|large\w*)/,
  /\b(?:limit|max\w*|exceed\w*|larger?)\b.{0,60}\b\d[\d.,]* ?(?:bytes|megabytes|[kmg]i?b)\b/,
  /larger than max|maximum (?:request |body |payload )?size|请求体过大|请求过大|请求实体过大/,
);

const OVERLOADED = /overloaded|at capacity|capacity exceeded|over capacity|high demand|繁忙|过载/;

const TIMEOUT = /time[ds]?[ -]?out|deadline[ _]?exceeded|etimedout|超时/;

const SERVER = anyOf(
  /internal (?:server )?error|server error|service unavailable|bad gateway|upstream connect/,
  /out of memory|econnre(?:set|fused)|socket hang up/,
);

const INVALID = anyOf(
  /invalid[ _](?:request|argument|param|user|value|type)|^invalid\b|bad request|unprocessable/,
  /validation ?(?:error|exception)/,
);
