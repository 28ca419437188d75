import type { ProviderErrorClass } from "./error-classes.ts";

/**
 * What an error says when it is not an overflow, however much its words resemble one.
 * The rules are tried in order over everything said: talk, money, frequency, access, malformed requests,
 * media, parameters.
 */
export function findLookAlike(sayings: readonly Saying[]): LookAlike | undefined {
  for (const [errorClass, applies] of LOOK_ALIKES) {
    const saying = sayings.find(applies);
    if (saying !== undefined) return { class: errorClass, saying };
  }
  return undefined;
}

export interface LookAlike {
  readonly class: ProviderErrorClass;
  readonly saying: Saying;
}

/** The class of an error that is no overflow and no look-alike either. */
export function plainClass({ words, statuses }: Saying): ProviderErrorClass {
  if (statuses.includes(413) || PAYLOAD.test(words)) return "payload_too_large";
  if (statuses.includes(529) || OVERLOADED.test(words)) return "overloaded";
  if (statuses.includes(408) || statuses.includes(504) || TIMEOUT.test(words)) return "timeout";
  if (statuses.some((status) => status >= 500) || SERVER.test(words)) return "server";
  if (statuses.includes(401) || statuses.includes(403)) return "auth";
  if (statuses.includes(404)) return "config";
  if (statuses.some((status) => status >= 400) || INVALID.test(words)) return "invalid_request";
  return "unknown";
}

/** One thing an error says: its words as the rules read them, as they came, and the statuses around it. */
export interface Saying {
  readonly words: string;
  readonly raw: string;
  readonly statuses: readonly number[];
}

const LOOK_ALIKES: readonly (readonly [ProviderErrorClass, (saying: Saying) => boolean])[] = [
  ["not_an_error", readsAsProse],
  ["billing", ({ words, statuses }) => statuses.includes(402) || BILLING.test(words)],
  ["rate_limit", ({ words, statuses }) => statuses.includes(429) || RATE.test(words)],
  ["auth", ({ words }) => AUTH.test(words)],
  [
    "invalid_history",
    ({ words }) => HISTORY.test(words) || (STRUCTURE.test(words) && STRUCTURE_RULE.test(words)),
  ],
  ["guardrail", ({ words }) => GUARDRAIL.test(words)],
  ["content_filter", ({ words }) => CONTENT_FILTER.test(words)],
  ["payload_too_large", ({ words }) => mediaClass(words) === "payload_too_large"],
  ["image", ({ words }) => mediaClass(words) === "image"],
  ["invalid_request", ({ words, raw }) => PARAMETER.test(words) || namesOtherParameter(raw)],
  ["config", ({ words }) => CONFIG.test(words)],
  ["output_limit", ({ words }) => isOutputLimit(words)],
];

const BILLING =
  /\bbilling\b|payment required|insufficient[ _](?:quota|funds|balance|credits?)|credit balance|\b(?:more|enough|buy|purchase|add|out of|no) credits?\b|credits? (?:are |is |has |have )?(?:been )?(?:exhausted|depleted|insufficient|used up)|can only afford|exceeded your current quota|spend(?:ing)? (?:limit|cap)|extra usage|balance (?:is )?(?:insufficient|too low|not enough)|\btop up\b|\bmax budget\b|exceeded ?budget|budget has been exceeded|\bbudget\b.{0,40}\b(?:team|user|key|usd|cost)\b|\b(?:team|user|key)s?\b.{0,20}\bbudget\b|余额|餘額|欠费|充值|额度不足/;

const RATE =
  /rate[ _-]?limit|throttl|too many (?:requests|concurrent|connections)|tokens?[ _-]per[ _-](?!request|message|call|prompt)|requests?[ _-]per[ _-]|\bper[ -](?:minute|min|day|hour|second|month)\b|\b[io]?(?:tpm|tpd|rpm|rpd|tph|qps|qpm)\b|\bquota\b|resource exhausted|(?:try|retry) again (?:in|after) (?:about )?[\d.]+|please wait|retry[ -]after|concurren(?:cy|t) (?:limit|request)|\b(?:daily|weekly|monthly|hourly)\b.{0,40}(?:limit|quota|cap|allowance|tokens)|usage limit|token plan limit|(?:exceeded|reached|hit|used up|over) your (?:\w+ ){0,4}(?:limit|quota|allowance|cap)\b|\blimit\b.{0,30}\b(?:for|on|of) (?:this|your) (?:api[ _-]key|account|organi[sz]ation|workspace|project|team|subscription|plan)\b|slow down|频繁|頻繁|频率|頻率|速率|限流|限速|并发|並發|请求过多|请求数|请求次数|配额|额度|每分钟|每日|每天/;

const AUTH =
  /\bapi[ _-]?keys?\b|unauthori[sz]ed|authenticat|authori[sz]ation|\b(?:access|auth|bearer|oauth|refresh|jwt|security|id)[ _-]tokens?\b|\btokens? (?:has |have |is |are |was )?(?:been )?(?:expired|invalid|revoked|malformed|missing)\b|\b(?:expired|invalid|missing|malformed|revoked) (?:\w+ )?token\b(?! (?:count|limit|length|number))|permission denied|not (?:authori[sz]ed|permitted) to|\bforbidden\b|credentials|signature (?:has )?(?:expired|does not match)|access denied|\btoken lifetime/;

const HISTORY =
  /prefill|must end with a user|roles? must alternate|must alternate|surrogate|(?:not |in)valid (?:json|utf)|unexpected token\b|json (?:parse|decode)|could not parse|cache_control|signature in thinking|invalid signature|text content blocks must be|must (?:be|have) non-?empty|content (?:is|cannot be|must not be) empty|without its required|no tool (?:call|output)|at least one message/;
const STRUCTURE =
  /tool_(?:use|result|calls?|call_id)|\btool (?:call|result|use|message)s?\b|function (?:call|response)|thinking blocks?|reasoning item|assistant message|\broles?\b|system message/;
const STRUCTURE_RULE =
  /\b(?:must|unexpected|missing|without|corresponding|not found|expected|ensure|followed by|preced\w+|equal to|invalid|may be provided|does not support|only|duplicate|cannot be modified)\b/;

const GUARDRAIL = /guardrail|text units/;

const CONTENT_FILTER =
  /content[ _](?:filter|management|policy|moderation)|responsible ai|\bsafety\b|harmful|moderation|\bflagged\b|prohibited|sensitive (?:content|words?|information)|blocked by|违规|敏感|审核|安全策略/;

const PARAMETER =
  /\b(?:string|array|list|name|description|identifier|url|uri|header|key|label|title|suffix)s?(?: \w+)? (?:is |are )?too (?:long|large)\b|(?:string|array)[ _]above[ _]max|\b(?:max(?:imum)?|minimum) (?:\w+ )?length (?:is |of |: ?)?\d+ (?:char|item|element)|\bexpected max_?length|unknown parameter|unrecognized|unsupported (?:parameter|value)|extra inputs|additional propert|must be one of|\btoo many (?:messages|tools|functions|stop|inputs|items|documents|choices|states|elements|properties|turns|steps)|\bnumber of (?:messages|tools|functions|inputs|items|documents|stop|choices|turns|elements)\b|\b(?:schema|grammar)\b.{0,40}\b(?:too|invalid|must|complex|large)|header fields|cached content is too small|\bmin_\w*token/;

const CONFIG =
  /context (?:window|length|size) (?:is )?too small|\bminimum (?:is|context)|gpu_memory_utilization|derived max_model_len|user-specified|when initializing|\bmodel\b.{0,60}\b(?:not found|does not exist|not exist|is not (?:supported|available)|not yet available|unavailable|deprecated)|(?:unknown|no such|unsupported) model|beta is not (?:yet )?available/;

const OUTPUT_PARAMETER =
  /\bmax_?(?:completion_?|new_?|output_?)?tokens\b|\bmaxoutputtokens\b|\bmax(?:imum)? (?:output|completion|new|response|generation|generated) (?:tokens?|length)\b|\bmaximum tokens (?:you )?(?:requested|value|parameter|setting)|\b(?:output|completion|response|thinking|reasoning)[ _-]tokens?\b|\bbudget_tokens\b|thinking budget|输出(?:长度|token)|\boutput (?:token )?(?:limit|length)/;
const INPUT_COUNTED =
  /\b(?:inputs?|prompts?|messages|message tokens?|conversation|history|prediction)\b|input_tokens|prompt_tokens|\btotal tokens\b|\btotal (?:number )?of\b|\btoken count\b/;
const OUTPUT_STOP =
  /^(?:(?:finish|stop)[ _]?reason\W{0,3})?(?:length|max_?(?:output_?|completion_?)?tokens|max (?:output )?tokens|max length)\W*$/;

const PAYLOAD =
  /\b(?:request|body|payload|entity|content|message|upload|file)(?: (?:entity|body|payload|content|size))*(?: is)? (?:was )?too (?:large|big)\b|\b(?:request|body|payload|message|upload|file)s?(?: (?:body|payload|content))?(?: size)? (?:exceeds?|exceeded|larger|is larger|over)\b|larger than max|\b(?:bytes|megabytes|[kmg]i?b)\b.{0,60}\b(?:limit|max\w*|exceed\w*|large\w*)|\b(?:limit|max\w*|exceed\w*|larger?)\b.{0,60}\b\d[\d.,]* ?(?:bytes|megabytes|[kmg]i?b)\b|maximum (?:request |body |payload )?size|请求体过大|请求过大|请求实体过大/;

const OVERLOADED = /overloaded|at capacity|capacity exceeded|over capacity|high demand|繁忙|过载/;
const TIMEOUT = /time[ds]?[ -]?out|deadline[ _]?exceeded|etimedout|超时/;
const SERVER =
  /internal (?:server )?error|service unavailable|bad gateway|out of memory|econnre(?:set|fused)|socket hang up|upstream connect|server error/;
const INVALID =
  /invalid[ _](?:request|argument|param|user|value|type)|bad request|validation ?(?:error|exception)|unprocessable|^invalid\b/;

const MEDIA = /\b(?:images?|photos?|pictures?|screenshots?)\b|图片|图像|圖片/;
const OTHER_MEDIA =
  /\b(?:videos?|audio|pdfs?|pages|files?|attachments?|documents?|media)\b|文件|檔案|附件|音频|视频/;
const MEDIA_SIZE =
  /exceed|too (?:large|big|many|long)|maximum|\bmax\b|\blimit|dimension|pixels?|number of|at most|larger than|could not process|unsupported|unable to process|duration|超过|超出|超過|过大|太大/;

function mediaClass(words: string): ProviderErrorClass | undefined {
  // Media also cost tokens: where tokens are named, the count is what matters.
  if (/\btokens?\b|\bcontext\b|\bprompt is too long\b/.test(words) || !MEDIA_SIZE.test(words))
    return undefined;
  if (MEDIA.test(words))
    return /image content|total|accumulated|combined/.test(words) ? "payload_too_large" : "image";
  return OTHER_MEDIA.test(words) ? "payload_too_large" : undefined;
}

function isOutputLimit(words: string): boolean {
  if (OUTPUT_STOP.test(words)) return true;
  return OUTPUT_PARAMETER.test(words) && !INPUT_COUNTED.test(words);
}

/** A parameter in quotes that is not the prompt itself. */
function namesOtherParameter(raw: string): boolean {
  const named = /\binvalid ["'`]([\w.[\]]+)["'`]/i.exec(raw)?.[1];
  return named !== undefined && !/^(?:messages?|inputs?|prompts?|contents?)(?:$|[.[])/i.test(named);
}

/** Talk about errors: a sentence of a person or a model, a list of patterns, source code. */
function readsAsProse({ words, raw }: Saying): boolean {
  if (PROSE_START.test(words)) return true;
  if (SOURCE_TEXT.test(raw)) return true;
  const signatures = SIGNATURES.filter((signature) => words.includes(signature)).length;
  return signatures >= 4;
}

const PROSE_START =
  /^(?:lets?|let us|heres?|here (?:is|are)|how|why|what|looking at|maybe|perhaps|please (?:investigate|debug|fix|explain)|(?:the|this) (?:mystery|following|list|table|file|test|page|article|function|user (?:asked|wants|is)|agent|bug|issue)|(?:i|we)(?:m|re|ve|ll)?(?: am| are| have| will| should| need to)? (?:debug\w*|investigat\w*|look\w*|read\w*|check\w*|see(?:ing)?|found|think|tried|fixed|added|wrote)|something is causing|to (?:fix|debug|detect|handle|avoid))\b/;

const SOURCE_TEXT =
  /```|\\[dsw][+*]|\/[igmu]{1,3}[,;)\]]|\bconst \w+ ?[:=]|\bfunction \w+\(|=> ?\{|\bexport (?:const|function)\b|\.test\(|\bOVERFLOW_PATTERNS\b|^\s*\|.*\|.*\|/m;

/** Wordings of different vendors: one error uses one or two of them, a list of errors uses many. */
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
