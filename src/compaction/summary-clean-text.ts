import { FENCED_TAGS, fenceData } from "../text/fence.ts";
import { normalizeText } from "../text/normalize-text.ts";
import { type RedactOptions, redactSecrets } from "../text/redact-secrets.ts";
import { headCut } from "../text/truncate.ts";
import { normalizeTypedText } from "../text/typed-text.ts";

/** Texts as they may stand in a request for a summary or in a summary: normalized, then without secrets. */
export interface TextCleaner {
  /** What a person typed: changed as little as possible. */
  typed(text: string): string;
  /** What programs and models wrote. */
  data(text: string): string;
  /** The same on one line of at most so many characters. */
  line(text: string, maxChars: number): string;
}

/** `off` leaves secrets where they are; everything else stays as it is. */
export type Redaction = RedactOptions | "off";

/** Makes the cleaner that all texts of one compaction go through. */
export function createTextCleaner(redaction: Redaction = {}): TextCleaner {
  const redact = (text: string): string => (redaction === "off" ? text : redactSecrets(text, redaction));
  const data = (text: string): string => redact(normalizeText(text));
  return {
    typed: (text) => redact(normalizeTypedText(text)),
    data,
    line: (text, maxChars) => oneLine(data(text), maxChars),
  };
}

/** A text on one line, cut behind so many characters. */
export function oneLine(text: string, maxChars: number): string {
  // What lies far behind the limit is not looked at: the line may come out shorter than it could be, never longer.
  const line = text
    .slice(0, maxChars * 4 + 64)
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= maxChars ? line : `${line.slice(0, headCut(line, Math.max(0, maxChars - 3)))}...`;
}

/** The elements that frame texts in a request and in a summary. */
export const SUMMARY_TAGS: readonly string[] = [
  ...FENCED_TAGS,
  "current_turn",
  "user_words",
  "pinned",
  "carried_facts",
];

/** A text that can neither open nor close an element of ours. */
export function fenceQuote(text: string): string {
  return fenceData(text, SUMMARY_TAGS);
}
