import { FENCED_TAGS, fenceData } from "../../text/fence.ts";
import { normalizeText } from "../../text/normalize.ts";
import { FORK_HEAD_RATIO, headCut, tailCut, truncate, truncationMarker } from "../../text/truncate.ts";

/** What a record keeps of a child's report; the whole is in the child's session. */
interface KeptReport {
  /** Normalized; both ends of a long one. */
  readonly text: string;
  /** The length of the whole where only its ends are kept. */
  readonly textChars?: number;
}

export function keepReport(text: string): KeptReport {
  const whole = normalizeText(text).trim();
  const kept = truncate(whole, { limitChars: MAX_KEPT_CHARS, method: "head-tail" });
  return { text: kept.text, ...(kept.cut !== undefined && { textChars: whole.length }) };
}

const MAX_KEPT_CHARS = 32_000;

/** The whole of a report, found among what its child wrote; undefined when it is not there any more. */
export function findReport({ text, textChars }: KeptReport, written: readonly string[]): string | undefined {
  if (textChars === undefined) return text;
  return written
    .map((each) => normalizeText(each).trim())
    .findLast((each) => each.length === textChars && keepReport(each).text === text);
}

/** A report as it is quoted to the parent: escaped and trimmed, with what is missing counted in characters of the whole. */
export function quoteReport({ text, textChars }: KeptReport, maxChars: number): QuotedReport {
  const totalChars = textChars ?? text.length;
  const quoted = quoteChild(text, Number.POSITIVE_INFINITY);
  if (textChars === undefined && quoted.length <= maxChars) return { text: quoted };
  let limitChars = Math.max(0, maxChars - MARKER_CHARS);
  for (let attempt = 1; ; attempt++) {
    const headChars = Math.floor(limitChars * FORK_HEAD_RATIO);
    const headEnd = headCut(text, headChars);
    const tailStart = tailCut(text, text.length - (limitChars - headChars));
    const shownChars = headEnd + text.length - tailStart;
    const marker = truncationMarker(totalChars - shownChars, "head-tail");
    const cut = fenceData(text.slice(0, headEnd) + marker + text.slice(tailStart), TAGS);
    if (cut.length <= maxChars || attempt === ATTEMPTS)
      return {
        text: cut.slice(0, headCut(cut, maxChars)),
        cut: { shownChars, totalChars, nextChar: headEnd },
      };
    // Escapes have made it longer.
    limitChars = Math.floor((limitChars * maxChars) / (cut.length + MARKER_CHARS));
  }
}

export interface QuotedReport {
  readonly text: string;
  /** How much of it is shown, and from which character on something is missing. */
  readonly cut?: { readonly shownChars: number; readonly totalChars: number; readonly nextChar: number };
}

const ATTEMPTS = 4;

const MARKER_CHARS = 60;

const TAGS = [...FENCED_TAGS, "fork_result"];

/** A piece of a report that was kept or found, with every blank that it has. */
export function quoteRange(piece: string): string {
  return fenceData(piece, TAGS);
}

/** Text of a child as it is quoted to the parent: normalized, tags escaped, trimmed. */
export function quoteChild(text: string, maxChars: number): string {
  const safe = fenceData(normalizeText(text).trim(), TAGS);
  if (safe.length <= maxChars) return safe;
  const limitChars = Math.max(0, maxChars - MARKER_CHARS);
  // What is left of a line may read like a tag or a speaker only now.
  return fenceData(truncate(safe, { limitChars, method: "head-tail" }).text, TAGS);
}
