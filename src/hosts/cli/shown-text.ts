import { normalizeText } from "../../text/normalize-text.ts";
import { redactSecrets } from "../../text/redact-secrets.ts";
import { headCut, tailCut } from "../../text/truncate.ts";

/** Text from outside for one place on a screen: one line, no escape sequences, no secrets, the beginning kept. */
export function shownText(text: string, maxChars: number): string {
  const line = plainLine(text, maxChars);
  return line.length <= maxChars ? line : `${line.slice(0, headCut(line, maxChars - 1))}…`;
}

/** The same for a path, of which the end says most. */
export function shownPath(path: string, maxChars: number): string {
  const line = plainLine(path, Number.POSITIVE_INFINITY);
  return line.length <= maxChars ? line : `…${line.slice(tailCut(line, line.length - maxChars + 1))}`;
}

/** A secret is redacted whole before the line is cut; what lies far behind the cut is not looked at. */
function plainLine(text: string, maxChars: number): string {
  const near = text.slice(0, Math.min(MAX_READ_CHARS, maxChars * 4 + MAX_SECRET_CHARS));
  return redactSecrets(normalizeText(near)).replace(/\s+/g, " ").trim();
}

const MAX_SECRET_CHARS = 8_192;
const MAX_READ_CHARS = 65_536;

/** A number as people write it. */
export function shownNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** A number of things, the word in the plural where there is not exactly one. */
export function counted(count: number, noun: string): string {
  return `${shownNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A part of a whole in percent; less than half a percent that is not nothing is `<1`. */
export function shownShare(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const percent = Math.round((100 * part) / whole);
  return percent === 0 ? "<1 %" : `${percent} %`;
}
