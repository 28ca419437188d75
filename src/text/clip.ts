import { safeJson, tryJson } from "./json.ts";
import { mapStrings } from "./map-strings.ts";
import { headCut } from "./truncate.ts";

/** At most `maxChars` from the head of a text, the last three of them dots when something is left out. */
function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars <= ELLIPSIS.length) return "";
  return text.slice(0, headCut(text, maxChars - ELLIPSIS.length)) + ELLIPSIS;
}

export const ELLIPSIS = "...";

/** A text on one line of at most `maxChars`. What lies far behind the limit is not read, so a huge text costs little. */
export function clipLine(text: string, maxChars: number): string {
  return clip(oneLine(text.slice(0, maxChars * 4 + 64)), maxChars);
}

/** A text on one line: every run of whitespace becomes one space, none at the ends. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/**
 * A value of the same shape whose JSON has at most `limitChars`: the longest strings are cut, all to one length.
 * Where shape alone is too long, or there is no JSON, an empty object.
 */
export function clipJson(value: unknown, limitChars: number): unknown {
  const json = tryJson(value);
  if (json === undefined) return {};
  if (json.length <= limitChars) return value;

  let maxStringChars = firstGuess(value, limitChars);
  for (;;) {
    const clipped = mapStrings(value, (text) => clip(text, maxStringChars));
    if (safeJson(clipped).length <= limitChars) return clipped;
    if (maxStringChars === 0) return {};
    // Escape characters made the JSON longer than the first guess allowed for.
    maxStringChars = Math.floor(maxStringChars * 0.8);
  }
}

/** The length to which strings must be cut if no character needs an escape. */
function firstGuess(value: unknown, limitChars: number): number {
  const lengths: number[] = [];
  const shape = mapStrings(value, (text) => {
    lengths.push(text.length);
    return "";
  });
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return Math.min(
    longest,
    Math.max(0, Math.floor(commonLimit(lengths, limitChars - safeJson(shape).length))),
  );
}

/**
 * The common length to which long texts must be cut so that all texts fit in `room`. Shorter texts are not cut, and
 * the room that they leave goes to the others. Infinity when everything fits.
 */
export function commonLimit(lengths: readonly number[], room: number): number {
  let left = room;
  for (const [index, length] of lengths.toSorted((one, other) => one - other).entries()) {
    const share = left / (lengths.length - index);
    if (length > share) return share;
    left -= length;
  }
  return left < 0 ? 0 : Number.POSITIVE_INFINITY;
}
