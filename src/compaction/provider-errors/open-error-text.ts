/**
 * Takes an error text apart: the words it says, the JSON values and stream events inside it, and the codes
 * and statuses it spells out. A part that echoes the request is left out.
 */
export function openErrorText(text: string): OpenedText {
  const trimmed = text.length <= MAX_PARSED_CHARS ? text.trim() : clip(text).trim();
  if (trimmed === "") return NOTHING;

  const events = streamEvents(trimmed);
  if (events.length > 0) return { ...NOTHING, inner: events };

  const embedded = embeddedJson(trimmed);
  if (embedded === undefined) return words(trimmed);
  return { ...words(embedded.around), inner: [embedded.value] };
}

export interface OpenedText {
  readonly said: readonly string[];
  readonly inner: readonly unknown[];
  readonly codes: readonly string[];
  readonly statuses: readonly number[];
}

const NOTHING: OpenedText = { said: [], inner: [], codes: [], statuses: [] };

/** Longer texts echo something; the provider's own words stand at one of the ends. */
const HEAD_CHARS = 3_000;
const TAIL_CHARS = 1_000;
const MAX_PARSED_CHARS = 200_000;
const MAX_EVENTS = 8;

function clip(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  return `${text.slice(0, HEAD_CHARS)}\n${text.slice(-TAIL_CHARS)}`;
}

function words(text: string): OpenedText {
  const said = clip(withoutEcho(text)).trim();
  if (said === "") return NOTHING;
  return { said: [said], inner: [], codes: spelledCodes(said), statuses: spelledStatuses(said) };
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

interface EmbeddedJson {
  readonly value: unknown;
  /** The text before and behind the JSON. */
  readonly around: string;
}

/** The first JSON object, list or quoted text in a text, if it can be parsed; a list of mere numbers is part of the words. */
function embeddedJson(text: string): EmbeddedJson | undefined {
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

function spelledCodes(text: string): readonly string[] {
  const codes: string[] = [];
  for (const match of text.matchAll(
    /["'](?:code|type|status|error_code|errorCode|error_type)\\?["']\s*:\s*\\?["']?([A-Za-z0-9][\w.-]{2,60})/g,
  )) {
    if (match[1] !== undefined) codes.push(match[1]);
  }
  return codes;
}

function spelledStatuses(text: string): readonly number[] {
  const match =
    /^\W{0,3}([1-5]\d\d)\b(?!,)|\b(?:error code|status code|status|http)\W{1,3}([1-5]\d\d)\b/i.exec(text);
  const status = match?.[1] ?? match?.[2];
  return status === undefined ? [] : [Number(status)];
}
