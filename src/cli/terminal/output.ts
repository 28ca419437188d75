import picocolors from "picocolors";
import { oneLine } from "../../text/clip.ts";
import { formatNumber } from "../../text/format-number.ts";
import { normalizeText } from "../../text/normalize.ts";
import { redactSecrets } from "../../text/secrets/redact-secrets.ts";
import { headCut, tailCut } from "../../text/truncate.ts";

/** Untrusted text made safe for the terminal: one line without escape sequences and secrets, cut at its end. */
export function terminalText(text: string, maxChars: number): string {
  const line = plainLine(text, maxChars);
  return line.length <= maxChars ? line : `${line.slice(0, headCut(line, maxChars - 1))}…`;
}

/** Like `terminalText`, but cut at the beginning, since the end of a path says most. */
export function terminalPath(path: string, maxChars: number): string {
  const line = plainLine(path, Number.POSITIVE_INFINITY);
  return line.length <= maxChars ? line : `…${line.slice(tailCut(line, line.length - maxChars + 1))}`;
}

/** Redacts before the caller cuts, so that no part of a secret is left; text far behind the cut is not scanned. */
function plainLine(text: string, maxChars: number): string {
  const near = text.slice(0, Math.min(MAX_READ_CHARS, maxChars * 4 + MAX_SECRET_CHARS));
  return oneLine(redactSecrets(normalizeText(near)));
}

const MAX_SECRET_CHARS = 8_192;
const MAX_READ_CHARS = 65_536;

/** A number of things, the noun in the plural unless it is one. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
}

/** A share in percent; `<1 %` for one that is not zero but would round to it. */
export function formatPercent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const percent = Math.round((100 * part) / whole);
  return percent === 0 ? "<1 %" : `${percent} %`;
}

/** The styles that the command line uses. */
export interface Colors {
  bold(text: string): string;
  red(text: string): string;
  dim(text: string): string;
}

/** Colours for a stream: none unless it is a terminal, and none where NO_COLOR is set. */
export function colorsFor(stream: { readonly isTTY?: boolean }): Colors {
  return picocolors.createColors(stream.isTTY === true && process.env.NO_COLOR === undefined);
}
