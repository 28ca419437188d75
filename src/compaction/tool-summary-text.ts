import { fenceData } from "../text/fence.ts";
import { normalizeText } from "../text/normalize-text.ts";
import { type RedactOptions, redactSecrets } from "../text/redact-secrets.ts";
import { headCut, tailCut, truncationMarker } from "../text/truncate.ts";
import { countCodePoints, cutCodePoints, firstCodePoints } from "./summary-cut-code-points.ts";

/** Tool text as it may be quoted: normalized, without secrets, cut to two thirds head and one third tail, unable to leave its frame. */
export function quoteToolText(text: string, maxCodePoints: number, redact: RedactOptions): string {
  const cut = excerpt(readable(text, redact), maxCodePoints);
  return clip(fenceData(cut), maxCodePoints);
}

/** A model's answer as it may be kept: normalized, without secrets, unable to leave its frame, cut at its end. */
export function quoteAnswer(text: string, maxCodePoints: number, redact: RedactOptions): string {
  return clip(fenceData(readable(text, redact)).trim(), maxCodePoints);
}

/** A name or an id on one line, unable to leave its frame. */
export function quoteName(text: string): string {
  return clip(fenceData(oneLine(normalizeText(text.slice(0, MAX_NAME_READ_CHARS)))), MAX_NAME_CODE_POINTS);
}

/** The text without line breaks. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** At most some code points of a text: two thirds from its head, one third from its tail, and between them how many are missing. */
export function excerpt(text: string, maxCodePoints: number): string {
  const isShort = text.length <= maxCodePoints || countCodePoints(text) <= maxCodePoints;
  return isShort ? text : cutCodePoints(text, Math.max(0, maxCodePoints - MARKER_CHARS));
}

/** At most some code points from the head of a text, with dots where more would follow. */
export function clip(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints || countCodePoints(text) <= maxCodePoints) return text;
  return firstCodePoints(text, maxCodePoints - ELLIPSIS.length) + ELLIPSIS;
}

const ELLIPSIS = "...";
/** Room for the line that says how many are missing. */
const MARKER_CHARS = truncationMarker(Number.MAX_SAFE_INTEGER, "head-tail").length;
const MAX_NAME_CODE_POINTS = 100;
const MAX_NAME_READ_CHARS = 1_000;

/** More than any summary reads from one end of a text, so that an output of 100 MB costs no more than a long one. */
const EDGE_CHARS = 100_000;
/** Longer than any secret. */
const HALVED_CHARS = 4_096;

function readable(text: string, redact: RedactOptions): string {
  const clean = (piece: string): string => redactSecrets(normalizeText(piece), redact);
  if (text.length <= 2 * EDGE_CHARS) return clean(text);
  const head = clean(text.slice(0, headCut(text, EDGE_CHARS)));
  const tail = clean(text.slice(tailCut(text, text.length - EDGE_CHARS)));
  // A secret that the slice has halved is not recognised, so what stands next to it goes too.
  const headEnd = headCut(head, Math.max(0, head.length - HALVED_CHARS));
  const tailStart = tailCut(tail, Math.min(tail.length, HALVED_CHARS));
  const marker = truncationMarker(text.length - headEnd - (tail.length - tailStart), "head-tail");
  return head.slice(0, headEnd) + marker + tail.slice(tailStart);
}
