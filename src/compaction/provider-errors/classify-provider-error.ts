import { omitUndefined } from "../../text/unknown-value.ts";
import { anyOf, codeWords, errorWords, readTokenFigures, type TokenFigures } from "./error-words.ts";
import { type ErrorStatement, findLookAlike, type ProviderErrorClass } from "./look-alikes.ts";
import { type ProviderErrorEvidence, readProviderError } from "./read-provider-error.ts";
import { codeSaysOverflow, saysOverflow } from "./says-overflow.ts";

/**
 * What kind of error a provider sent, and the token counts it gave. Takes the error as it was caught (an Error, a
 * response body, a text, a stream event). `read-provider-error` collects texts, codes and statuses from the error object;
 * a machine code decides first, then the look-alikes of an overflow, then the wording of an overflow.
 * An error it does not know is never an overflow.
 */
export function classifyProviderError(error: unknown, options: ClassifyOptions = {}): ProviderErrorReport {
  const evidence = readProviderError(error);
  const decision = decide(evidence, options.provider ?? evidence.provider ?? "");
  const { class: errorClass, statement, figures } = decision;
  const code = evidence.codes.find((each) => codeSaysOverflow(codeWords(each))) ?? evidence.codes[0];
  return {
    class: errorClass,
    isOverflow: errorClass === "context_overflow" || errorClass === "context_overflow_output",
    recovery: RECOVERY[errorClass] ?? "none",
    message: (statement?.raw ?? evidence.texts.at(-1) ?? "").slice(0, MAX_MESSAGE_CHARS).toWellFormed(),
    ...omitUndefined({ code, status: evidence.statuses[0] }),
    ...figures,
  };
}

/** True when the provider refused the request because its tokens do not fit. */
export function isContextLengthExceeded(error: unknown): boolean {
  return classifyProviderError(error).isOverflow;
}

/** What the caller knows about the error. */
export interface ClassifyOptions {
  /**
   * Who sent it, where known: a few wordings mean an overflow from one provider only.
   * @default read from the error
   */
  readonly provider?: string;
}

/** What a provider's error means, what helps, and the token counts that it names. */
export interface ProviderErrorReport extends TokenFigures {
  readonly class: ProviderErrorClass;
  /** True for the two overflow classes alone. */
  readonly isOverflow: boolean;
  readonly recovery: ErrorRecovery;
  /** The text that decided the class, shortened; it may hold secrets like any text from outside. */
  readonly message: string;
  /** The provider's own code or type, which tells the errors of class `other` apart. */
  readonly code?: string;
  /** The HTTP status. */
  readonly status?: number;
}

/**
 * What helps: `compact` the conversation; `lower-output` first and compact if that is not enough;
 * `drop-media`, since a summary of text does not shrink bytes; `fit-rate-limit`, since no waiting helps;
 * `leave-out-thoughts`, which are bound to what stood before them, or damaged.
 */
export type ErrorRecovery =
  | "compact"
  | "lower-output"
  | "drop-media"
  | "fit-rate-limit"
  | "leave-out-thoughts"
  | "none";

const RECOVERY: Readonly<Partial<Record<ProviderErrorClass, ErrorRecovery>>> = {
  context_overflow: "compact",
  context_overflow_output: "lower-output",
  payload_too_large: "drop-media",
  rate_limit_size: "fit-rate-limit",
  invalid_thought: "leave-out-thoughts",
};

const MAX_MESSAGE_CHARS = 1_000;

interface Decision {
  readonly class: ProviderErrorClass;
  readonly statement?: ErrorStatement | undefined;
  readonly figures?: TokenFigures;
}

function decide(evidence: ProviderErrorEvidence, provider: string): Decision {
  const { texts, codes, statuses } = evidence;
  // Codes are read as words too, so that one set of rules reads both; status rules need at least one statement.
  const statements = [
    ...texts.map((raw) => ({ words: errorWords(raw), raw, statuses })),
    ...codes.map((raw) => ({ words: codeWords(raw), raw, statuses })),
  ];
  if (statements.length === 0) statements.push({ words: "", raw: "", statuses });
  if (codes.some((code) => codeSaysOverflow(codeWords(code)))) return overflowDecision(statements, evidence);
  const lookAlike = findLookAlike(statements);
  if (lookAlike?.class === "rate_limit") return rateLimitDecision(lookAlike.statement, statements);
  if (lookAlike !== undefined) return lookAlike;
  const telling = statements.filter(({ words }) => saysOverflow(words));
  if (telling.length > 0 || isProviderSpecificOverflow(evidence, provider)) {
    return overflowDecision(telling, evidence);
  }
  const isPayload = statuses.includes(413) || statements.some(({ words }) => PAYLOAD.test(words));
  return { class: isPayload ? "payload_too_large" : "other", statement: statements[0] };
}

/** Takes the statement with the most figures, since wrappers repeat a text in part. */
function overflowDecision(
  statements: readonly ErrorStatement[],
  { observedTokens, limitTokens }: ProviderErrorEvidence,
): Decision {
  let [statement] = statements;
  let read = readTokenFigures(statement?.words ?? "");
  for (const other of statements.slice(1)) {
    const figures = readTokenFigures(other.words);
    if (Object.keys(figures).length > Object.keys(read).length) [statement, read] = [other, figures];
  }
  const figures: TokenFigures = { ...read, ...omitUndefined({ observedTokens, limitTokens }) };
  const isOutput = isCausedByOutputReserve(statement?.words ?? "", figures);
  return { class: isOutput ? "context_overflow_output" : "context_overflow", statement, figures };
}

/** A request that is larger than the rate limit itself is a class of its own: no waiting helps. */
function rateLimitDecision(statement: ErrorStatement, statements: readonly ErrorStatement[]): Decision {
  const { words } = statement;
  const figures = readTokenFigures(words);
  const { observedTokens = 0, limitTokens = Number.POSITIVE_INFINITY } = figures;
  const isTooLarge =
    statements.some((each) => /\brequest (?:is )?too large\b/.test(each.words)) ||
    (observedTokens > limitTokens && /\brequested\b/.test(words) && !/\bused\b/.test(words));
  return isTooLarge ? { class: "rate_limit_size", statement, figures } : { class: "rate_limit", statement };
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

/** True for errors that mean an overflow only from the provider that sent them. */
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

/** Too many bytes, whatever they hold. */
const PAYLOAD = anyOf(
  /\b(?:request|body|payload|entity|content|message|upload|file)(?: (?:entity|body|payload|content|size))*(?: is)? (?:was )?too (?:large|big)\b/,
  /\b(?:request|body|payload|message|upload|file)s?(?: (?:body|payload|content))?(?: size)? (?:exceeds?|exceeded|larger|is larger|over)\b/,
  /\b(?:bytes|megabytes|[kmg]i?b)\b.{0,60}\b(?:limit|max\w*|exceed\w*|large\w*)/,
  /\b(?:limit|max\w*|exceed\w*|larger?)\b.{0,60}\b\d[\d.,]* ?(?:bytes|megabytes|[kmg]i?b)\b/,
  /larger than max|maximum (?:request |body |payload )?size|请求体过大|请求过大|请求实体过大/,
);
