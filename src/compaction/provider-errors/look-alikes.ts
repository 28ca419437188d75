import { anyOf } from "./error-words.ts";

/**
 * The class of an error whose words resemble an overflow and mean something else. The rules are tried in order, each over
 * all statements: prose about errors, thoughts that are bound to another conversation or damaged, billing, rate limits, access, malformed histories, filters, media, parameters,
 * configuration, output limits.
 */
export function findLookAlike(
  statements: readonly ErrorStatement[],
): { readonly class: ProviderErrorClass; readonly statement: ErrorStatement } | undefined {
  for (const [errorClass, applies] of LOOK_ALIKES) {
    const statement = statements.find(applies);
    if (statement !== undefined) return { class: errorClass, statement };
  }
  return undefined;
}

/**
 * The kinds of provider error that are treated differently. Only the two overflow classes mean that the tokens do not fit;
 * `other` is everything for which there is nothing to do but report it.
 */
export type ProviderErrorClass =
  | "context_overflow"
  | "context_overflow_output"
  | "payload_too_large"
  | "rate_limit_size"
  | "rate_limit"
  | "output_limit"
  | "invalid_thought"
  | "other";

/** One text or code of an error: normalized for the rules, as it came, and with the HTTP statuses of the error. */
export interface ErrorStatement {
  readonly words: string;
  readonly raw: string;
  readonly statuses: readonly number[];
}

const LOOK_ALIKES: readonly (readonly [ProviderErrorClass, (statement: ErrorStatement) => boolean])[] = [
  ["other", ({ words, raw }) => readsAsProse(words, raw)],
  ["invalid_thought", ({ words }) => INVALID_THOUGHT.test(words)],
  ["other", ({ words, statuses }) => statuses.includes(402) || BILLING.test(words)],
  ["rate_limit", ({ words, statuses }) => statuses.includes(429) || RATE.test(words)],
  ["other", ({ words }) => AUTH.test(words)],
  ["other", ({ words }) => HISTORY.test(words) || breaksStructure(words)],
  ["other", ({ words }) => GUARDRAIL.test(words)],
  ["other", ({ words }) => CONTENT_FILTER.test(words)],
  ["payload_too_large", ({ words }) => mediaClass(words) === "payload_too_large"],
  ["other", ({ words }) => mediaClass(words) === "image"],
  ["other", ({ words, raw }) => isAboutParameter(words) || namesOtherParameter(raw)],
  ["other", ({ words }) => CONFIG.test(words)],
  ["output_limit", ({ words }) => isOutputLimit(words)],
];

/** Without the second sentence the signature itself is damaged; either way the thought cannot be sent. */
const INVALID_THOUGHT = anyOf(
  /invalid signature in (?:redacted_)?thinking block/,
  /\bblock is bound to a different conversation\b/,
);

const BILLING = anyOf(
  /\bbilling\b|payment required|credit balance|\btop up\b|extra usage|plan does not include/,
  /insufficient[ _](?:quota|funds|balance|credits?)/,
  /\b(?:more|enough|buy|purchase|add|out of|no) credits?\b/,
  /credits? (?:are |is |has |have )?(?:been )?(?:exhausted|depleted|insufficient|used up)/,
  /balance (?:is )?(?:insufficient|too low|not enough)/,
  /can only afford|exceeded your current quota|spend(?:ing)? (?:limit|cap)/,
  /\bmax budget\b|exceeded ?budget|budget has been exceeded/,
  /\bbudget\b.{0,40}\b(?:team|user|key|usd|cost)\b|\b(?:team|user|key)s?\b.{0,20}\bbudget\b/,
  /余额|餘額|欠费|充值|额度不足/,
);

const RATE = anyOf(
  /rate[ _-]?limit|throttl|slow down|increased too quickly|resource exhausted|\bquota\b/,
  /too many (?:requests|concurrent|connections)|concurren(?:cy|t) (?:limit|request)/,
  /tokens?[ _-]per[ _-](?!request|message|call|prompt)|requests?[ _-]per[ _-]/,
  /\bper[ -](?:minute|min|day|hour|second|month)\b|\b[io]?(?:tpm|tpd|rpm|rpd|tph|qps|qpm)\b/,
  /(?:try|retry) again (?:in|after) (?:about )?[\d.]+|please wait|retry[ -]after/,
  /\b(?:daily|weekly|monthly|hourly)\b.{0,40}(?:limit|quota|cap|allowance|tokens)/,
  /usage limit|enqueued tokens?|sliding window/,
  /(?:exceeded|reached|hit|used up|over) your (?:\w+ ){0,4}(?:limit|quota|allowance|cap)\b/,
  /\blimit\b.{0,30}\b(?:for|on|of) (?:this|your) (?:api[ _-]key|account|organi[sz]ation|workspace|project|team|subscription|plan)\b/,
  /频繁|頻繁|频率|頻率|速率|限流|限速|并发|並發|请求过多|请求数|请求次数|配额|额度|每分钟|每日|每天|用量|限额|套餐/,
);

/** Access tokens and keys, not tokens of text. */
const AUTH = anyOf(
  /\bapi[ _-]?keys?\b|unauthori[sz]ed|authenticat|authori[sz]ation|credentials|\bforbidden\b/,
  /permission denied|access denied|not (?:authori[sz]ed|permitted) to/,
  /\b(?:access|auth|bearer|oauth|refresh|jwt|security|id)[ _-]tokens?\b|\btoken lifetime/,
  /\btokens? (?:has |have |is |are |was )?(?:been )?(?:expired|invalid|revoked|malformed|missing)\b/,
  /\b(?:expired|invalid|missing|malformed|revoked) (?:\w+ )?token\b(?! (?:count|limit|length|number))/,
  /signature (?:has )?(?:expired|does not match)|(?:token|令牌).{0,2}(?:已过期|过期|无效|失效)|无效的令牌/,
);

const HISTORY = anyOf(
  /prefill|must end with a user|must alternate|at least one message/,
  /surrogate|(?:not |in)valid (?:json|utf)|unexpected token\b|json (?:parse|decode)|could not parse/,
  /cache_control|signature in thinking|invalid signature|without its required|no tool (?:call|output)/,
  /text content blocks must be|must (?:be|have) non-?empty|content (?:is|cannot be|must not be) empty/,
);

function breaksStructure(words: string): boolean {
  return STRUCTURE.test(words) && STRUCTURE_RULE.test(words) && !/\btokens?\b/.test(words);
}

const STRUCTURE = anyOf(
  /tool_(?:use|result|calls?|call_id)|\btool (?:call|result|use|message)s?\b|function (?:call|response)/,
  /thinking blocks?|reasoning item|assistant message|system message|\broles?\b/,
);

const STRUCTURE_RULE = anyOf(
  /\b(?:must|unexpected|missing|without|corresponding|not found|expected|ensure|followed by|preced\w+)\b/,
  /\b(?:equal to|invalid|may be provided|does not support|duplicate|cannot be modified)\b/,
);

const GUARDRAIL = /guardrail|text units/;

const CONTENT_FILTER = anyOf(
  /content[ _](?:filter|management|policy|moderation)|responsible ai|\bsafety\b|harmful|moderation/,
  /\bflagged\b|prohibited|disallowed|sensitive (?:content|words?|information)|blocked by/,
  /违规|敏感|审核|安全策略/,
);

function isAboutParameter(words: string): boolean {
  return PARAMETER.test(words) && !/\bcontext (?:length|window|size|limit)\b/.test(words);
}

const PARAMETER = anyOf(
  /\b(?:string|array|list|name|description|identifier|url|uri|header|key|label|title|suffix|parameter)s?(?: \w+)? (?:is |are )?too (?:long|large)\b/,
  /(?:string|array)[ _]above[ _]max|\bexpected max_?length|header fields/,
  /\b(?:max(?:imum)?|minimum) (?:\w+ )?length (?:is |of |: ?)?\d+ (?:char|item|element)/,
  /unknown parameter|unrecognized|unsupported (?:parameter|value)|extra inputs|additional propert|must be one of/,
  /\btoo many (?:messages|tools|functions|stop|inputs|items|documents|choices|states|elements|properties|turns|steps)/,
  /(?<!\b(?:reduce|decrease|limit|lower) (?:the|your) )\bnumber of (?:messages|tools|functions|inputs|items|documents|stop|choices|turns|elements)\b/,
  /\b(?:schema|grammar)\b.{0,40}\b(?:too|invalid|must|complex|large)/,
  /\b(?:logit_bias|stop_sequences|best_of|top_k|top_p|logprobs)\b/,
  /\b(?:file content|tool (?:response|output|result)|mcp)\b.{0,40}\bexceed/,
  /cached content is too small|\bmin_\w*token/,
);

/** A parameter in quotes that is not the prompt itself. */
function namesOtherParameter(raw: string): boolean {
  const named = /\binvalid ["'`]([\w.[\]]+)["'`]/i.exec(raw)?.[1];
  return named !== undefined && !/^(?:messages?|inputs?|prompts?|contents?)(?:$|[.[])/i.test(named);
}

const CONFIG = anyOf(
  /context (?:window|length|size) (?:is )?too small(?! for (?:this|the|your) (?:request|prompt|input|conversation))/,
  /\bminimum (?:is|context)|gpu_memory_utilization|derived max_model_len|user-specified|when initializing/,
  /\b(?:model|deployment)\b.{0,60}\b(?:not found|does not exist|not exist|is not (?:supported|available)|not yet available|unavailable|deprecated)/,
  /(?:unknown|no such|unsupported) model|beta is not (?:yet )?available/,
);

/** Whether an error is about the size, number or kind of images, or about the bytes of media as a whole. */
function mediaClass(words: string): "image" | "payload_too_large" | undefined {
  // Where tokens are named, the error is about their count, although media are mentioned.
  if (/\btokens?\b|\bcontext\b|\bprompt is too long\b/.test(words) || !MEDIA_SIZE.test(words))
    return undefined;
  if (IMAGE.test(words)) return ALL_MEDIA.test(words) ? "payload_too_large" : "image";
  return OTHER_MEDIA.test(words) ? "payload_too_large" : undefined;
}

const MEDIA_SIZE = anyOf(
  /exceed|too (?:large|big|many|long)|maximum|\bmax\b|\blimit|at most|larger than|longer than|number of/,
  /dimension|pixels?|duration|could not process|unable to process|unsupported/,
  /超过|超出|超過|过大|太大/,
);

const IMAGE = /\b(?:images?|photos?|pictures?|screenshots?)\b|图片|图像|圖片/;

const OTHER_MEDIA =
  /\b(?:videos?|audio|pdfs?|pages|files?|attachments?|documents?|media)\b|文件|檔案|附件|音频|视频/;

/** Wordings about all media of a request together, not about one image. */
const ALL_MEDIA = /image content|total|accumulated|combined/;

/** True when an error is about the length of the answer alone: a parameter out of range, or an answer cut short. */
function isOutputLimit(words: string): boolean {
  if (LENGTH_STOP.test(words)) return true;
  if (!OUTPUT_WORDS.test(words) || INPUT_COUNTED.test(words)) return false;
  // An answer that outgrows the window is an overflow, not a parameter out of range.
  return !/\bexceed\w*\b.*\bcontext[ _-]?(?:length|window|limit|size)/.test(words);
}

const LENGTH_STOP =
  /^(?:(?:finish|stop)[ _]?reason\W{0,3})?(?:length|max[_ ]?(?:(?:output|completion)[_ ]?)?tokens|max length)(?: reached)?\W*$/;

const OUTPUT_WORDS = anyOf(
  /\bmax_?(?:completion_?|new_?|output_?)?tokens\b|\bbudget_tokens\b|thinking budget/,
  /\bmax(?:imum)? (?:output|completion|new|response|generation|generated) (?:tokens?|length)\b/,
  /\bmaximum tokens (?:you )?(?:requested|value|parameter|setting)/,
  /\b(?:output|completion|response|thinking|reasoning)[ _-]tokens?\b|\boutput (?:token )?(?:limit|length)/,
  /\bmax(?:imum)? tokens?\b.{0,30}\b(?:response|answer|completion|generation|reply)\b/,
  /输出(?:长度|token)/,
);

const INPUT_COUNTED = anyOf(
  /\b(?:inputs?|prompts?|messages|message tokens?|conversation|history|prediction)\b|input_tokens|prompt_tokens/,
  /\btotal tokens\b|\btotal (?:number )?of\b|\btoken count\b/,
);

/** True for a text about errors that is not an error: prose of a person or a model, a list of wordings, source code. */
function readsAsProse(words: string, raw: string): boolean {
  if (PROSE_OPENING.test(words) || FIRST_PERSON.test(raw) || SOURCE_CODE.test(raw) || QUOTING.test(raw))
    return true;
  return SIGNATURES.filter((signature) => words.includes(signature)).length >= MANY_SIGNATURES;
}

const PROSE_OPENING = anyOf(
  /^(?:lets?|let us|heres?|here (?:is|are)|how|why|what|looking at|maybe|perhaps)\b/,
  /^please (?:investigate|debug|fix|explain)\b|^something is causing\b|^to (?:fix|debug|detect|handle|avoid)\b/,
  /^(?:the|this) (?:mystery|following|list|table|file|test|page|article|function|docs?|documentation|catalogue|user (?:asked|wants|is)|agent|bug|issue)\b/,
  /^we(?:re| are|ve| have)? (?:debug\w*|investigat\w*|looking|reading|checking|seeing|tried|fixed|added|wrote)\b/,
);

/** Providers never write "I". */
const FIRST_PERSON =
  /\bI(?:['’](?:ve|m|ll)| am| have| will)? (?:am|have|read|reading|found|saw|see|check\w*|added|think|need|was|look\w*|debug\w*|investigat\w*|tried|fixed|wrote)\b/;

const SOURCE_CODE = anyOf(
  /```|\\[dsw][+*]|\/[igmu]{1,3}[,;)\]]|\bconst \w+ ?[:=]|\bfunction \w+\(|=> ?\{|\bexport (?:const|function)\b|\.test\(/,
  /(?:^|\n)\s*\|.*\|.*\||(?:^|\n)#{1,4} |(?:^|\n)\s*[-*] .*\n\s*[-*] /,
  /^\$? ?(?:grep|rg|cat|sed|git) /,
);

const QUOTING = /\b(?:lists|mentions|matches|documents|catalogues|describes)\b.{0,60}["'`“]/;

/** One error uses one or two of these wordings of different vendors, a list of errors uses many. */
const MANY_SIGNATURES = 4;
const SIGNATURES: readonly string[] = (
  "prompt is too long|input is too long|exceeds the context window|" +
  "exceeds the available context size|exceeds the limit of|exceeded model token limit|" +
  "maximum context length|maximum prompt length|maximum number of tokens|context_length_exceeded|" +
  "context length exceeded|context window exceeds limit|greater than the context length|" +
  "reduce the length of the messages|too many tokens|token limit exceeded|request_too_large"
).split("|");
