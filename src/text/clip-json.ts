import { mapStrings } from "./map-strings.ts";
import { jsonOf, safeJson } from "./safe-json.ts";
import { headCut } from "./truncate.ts";

/**
 * A value of the same shape whose JSON has at most `limitChars`: the longest strings are cut, all to one length.
 * Where shape alone is too long, or there is no JSON, an empty object.
 */
export function clipJson(value: unknown, limitChars: number): unknown {
  const json = jsonOf(value);
  if (json === undefined) return {};
  if (json.length <= limitChars) return value;

  let maxStringChars = firstGuess(value, limitChars);
  for (;;) {
    const clipped = mapStrings(value, (text) => shorten(text, maxStringChars));
    if (safeJson(clipped).length <= limitChars) return clipped;
    if (maxStringChars === 0) return {};
    // Escapes take more room than was guessed.
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
  lengths.sort((a, b) => a - b);
  let roomChars = limitChars - safeJson(shape).length;
  for (const [index, length] of lengths.entries()) {
    const share = Math.floor(roomChars / (lengths.length - index));
    if (length > share) return Math.max(0, share);
    roomChars -= length;
  }
  return lengths.at(-1) ?? 0;
}

const ELLIPSIS = "...";

function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars <= ELLIPSIS.length) return "";
  return text.slice(0, headCut(text, maxChars - ELLIPSIS.length)) + ELLIPSIS;
}
