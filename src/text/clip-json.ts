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

  let low = 0;
  let high = limitChars;
  let best: unknown = {};
  while (low <= high) {
    const maxStringChars = (low + high) >> 1;
    const candidate = mapStrings(value, (text) => shorten(text, maxStringChars));
    if (safeJson(candidate).length <= limitChars) {
      best = candidate;
      low = maxStringChars + 1;
    } else {
      high = maxStringChars - 1;
    }
  }
  return best;
}

const ELLIPSIS = "...";

function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars <= ELLIPSIS.length) return "";
  return text.slice(0, headCut(text, maxChars - ELLIPSIS.length)) + ELLIPSIS;
}
