import { anyOf } from "./any-of.ts";
import type { ProviderErrorClass } from "./error-classes.ts";

/** The class of an error that is neither an overflow nor a look-alike: by its words, then by its statuses. */
export function plainClass(words: readonly string[], statuses: readonly number[]): ProviderErrorClass {
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
