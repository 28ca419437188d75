/**
 * What a provider said, collected from its error object alone: nested, double-encoded, wrapped by an SDK
 * or sent as a stream event. The request, its messages and its headers are never looked at.
 * Never throws, and looks at a bounded number of values however large or cyclic the error is.
 */
export function readProviderError(error: unknown): ProviderErrorEvidence {
  const found: EvidenceSets = { texts: new Set(), codes: new Set(), statuses: new Set() };
  const seen = new Set<object>();
  const waiting: unknown[] = [error];
  for (let visits = 0; waiting.length > 0 && visits < MAX_VISITS; visits++) {
    waiting.push(...visit(waiting.shift(), seen, found));
  }
  return { ...found, texts: [...found.texts], codes: [...found.codes], statuses: [...found.statuses] };
}

export interface ProviderErrorEvidence extends FoundFields {
  /** What was said in words, the outermost first. */
  readonly texts: readonly string[];
  /** Codes, types, names and stop reasons. */
  readonly codes: readonly string[];
  /** HTTP statuses, from fields and from the beginning of texts. */
  readonly statuses: readonly number[];
}

interface FoundFields {
  provider?: string | undefined;
  /** Token counts that the body carries in fields of their own. */
  observedTokens?: number | undefined;
  limitTokens?: number | undefined;
}

interface EvidenceSets extends FoundFields {
  readonly texts: Set<string>;
  readonly codes: Set<string>;
  readonly statuses: Set<number>;
}

const MAX_VISITS = 96;
const MAX_ITEMS = 8;
const MAX_CODE_CHARS = 120;

const STATUS_FIELDS =
  "status statusCode status_code httpStatus http_status httpStatusCode code error_code".split(" ");
const CODE_FIELDS = (
  "code Code type __type name status error_code errorCode error_type status_code stop_reason " +
  "stopReason finish_reason finishReason unified reason"
).split(" ");
const TEXT_FIELDS = (
  "message Message msg error_msg errorMessage error_message status_msg detail " +
  "error_description statusText"
).split(" ");
const INNER_FIELDS = (
  "error Error cause response data body responseBody response_body metadata $metadata raw " +
  "lastError innererror innerError originalError details base_resp header choices " +
  "incomplete_details result"
).split(" ");
const PROVIDER_FIELDS = ["provider", "provider_name", "llm_provider"];
const OBSERVED_FIELDS = "n_prompt_tokens prompt_tokens input_tokens num_prompt_tokens".split(" ");
const LIMIT_FIELDS = "n_ctx context_length max_context_length max_prompt_tokens context_window".split(" ");

/** What is inside a value; nothing when the value cannot be looked at (a revoked proxy, a throwing getter). */
function visit(value: unknown, seen: Set<object>, found: EvidenceSets): readonly unknown[] {
  try {
    if (typeof value === "string") return readText(value, found);
    if (typeof value !== "object" || value === null || seen.has(value)) return [];
    seen.add(value);
    return Array.isArray(value) ? value.slice(0, MAX_ITEMS) : readObject(value, found);
  } catch {
    return [];
  }
}

function readObject(object: object, found: EvidenceSets): readonly unknown[] {
  // An object with a role is a message of the request that the provider repeats.
  if (typeof fieldOf(object, "role") === "string") return [];

  const fields = (names: readonly string[]): readonly unknown[] => names.map((name) => fieldOf(object, name));
  for (const value of fields(STATUS_FIELDS)) if (isStatus(value)) found.statuses.add(Number(value));
  for (const value of fields(CODE_FIELDS)) addCode(value, found);
  found.provider ??= fields(PROVIDER_FIELDS).find(isShortText);
  found.observedTokens ??= fields(OBSERVED_FIELDS).find(isCount);
  found.limitTokens ??= fields(LIMIT_FIELDS).find(isCount);

  const inner = [...fields(TEXT_FIELDS), ...fields(INNER_FIELDS)];
  // A retry error lists every attempt; only the last one counts.
  if (fieldOf(object, "lastError") === undefined) inner.push(fieldOf(object, "errors"));
  return inner.filter((value) => typeof value === "string" || (typeof value === "object" && value !== null));
}

function addCode(value: unknown, found: EvidenceSets): void {
  if (isStatus(value)) return;
  const code = typeof value === "number" ? String(value) : value;
  if (isShortText(code) && code !== "" && !MEANINGLESS_CODES.has(code)) found.codes.add(code);
}

/** Names that every error has, and what a stream calls its events. */
const MEANINGLESS_CODES: ReadonlySet<string> = new Set(
  "error Error TypeError AggregateError AI_APICallError AI_RetryError response.failed".split(" "),
);

function isStatus(value: unknown): boolean {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && status >= 100 && status <= 599;
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_CODE_CHARS;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function fieldOf(object: object, name: string): unknown {
  try {
    return (object as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/**
 * Takes an error text apart: adds what it says, and the codes and statuses it spells out, and returns the JSON values or
 * stream events inside it. A part that echoes the request is left out.
 */
function readText(text: string, found: EvidenceSets): readonly unknown[] {
  const trimmed = text.length <= MAX_PARSED_CHARS ? text.trim() : keepEnds(text).trim();
  const events = streamEvents(trimmed);
  if (events.length > 0) return events;
  const embedded = embeddedJson(trimmed);
  const said = keepEnds(withoutEcho(embedded === undefined ? trimmed : embedded.around)).trim();
  if (said !== "") {
    found.texts.add(said);
    for (const [, code = ""] of said.matchAll(SPELLED_CODE)) found.codes.add(code);
    const [, leading, named] = SPELLED_STATUS.exec(said) ?? [];
    const status = leading ?? named;
    if (status !== undefined) found.statuses.add(Number(status));
  }
  return embedded === undefined ? [] : [embedded.value];
}

const SPELLED_CODE =
  /["'](?:code|type|status|error_code|errorCode|error_type)\\?["']\s*:\s*\\?["']?([A-Za-z0-9][\w.-]{2,60})/g;
const SPELLED_STATUS =
  /^\W{0,3}([1-5]\d\d)\b(?!,)|\b(?:error code|status code|status|http)\W{1,3}([1-5]\d\d)\b/i;

/** Longer texts repeat the request; the provider's own words stand at one of the ends. */
const HEAD_CHARS = 3_000;
const TAIL_CHARS = 1_000;
const MAX_PARSED_CHARS = 200_000;
const MAX_EVENTS = 8;

function keepEnds(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  return `${text.slice(0, HEAD_CHARS)}\n${text.slice(-TAIL_CHARS)}`;
}

/** The data of the events of a stream; an error stands at its end, or is all there is. */
function streamEvents(text: string): readonly string[] {
  if (!/^(?:event|data|id|retry)?:/.test(text)) return [];
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .slice(-MAX_EVENTS)
    .map((line) => line.slice("data:".length).trim());
}

/** The first JSON object, list or quoted text in a text, and the text around it; a list of numbers is part of the words. */
function embeddedJson(text: string): { readonly value: unknown; readonly around: string } | undefined {
  const start = text.startsWith('"') ? 0 : text.search(/\{|\[\s*[{"]/);
  if (start === -1) return undefined;
  const closing = text[start] === "{" ? "}" : text[start] === "[" ? "]" : '"';
  const end = text.lastIndexOf(closing) + 1;
  if (end - start < 2) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(start, end));
    if (typeof value === "string" || (typeof value === "object" && value !== null)) {
      return { value, around: `${text.slice(0, start)} ${text.slice(end)}` };
    }
  } catch {
    // Not JSON: the text is read as words.
  }
  return undefined;
}

/** The text up to where it repeats a message of the request. */
function withoutEcho(text: string): string {
  const echo = text.search(/[{[(]\s*\\?["']?role\\?["']?\s*[:=]|\binput_value\s*=|\\?["']content\\?["']\s*:/);
  return echo === -1 ? text : text.slice(0, echo);
}
