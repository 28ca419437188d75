import { isPlaceholder } from "./placeholder-value.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";

/** Gives where a cookie header ends, when the colon is that of one. */
export function cookieHeaderEnd(text: string, colonIndex: number): number | undefined {
  if ((text.charCodeAt(colonIndex - 1) | 32) !== LETTER_E && text.charAt(colonIndex - 1) !== '"')
    return undefined;
  if (!/cookie\\?["']?$/i.test(text.slice(Math.max(0, colonIndex - 9), colonIndex))) return undefined;
  return (
    colonIndex + (/^[^\r\n]*/.exec(text.slice(colonIndex, colonIndex + MAX_HEADER_CHARS))?.[0].length ?? 0)
  );
}

/** Finds the value of a cookie that can open a session, from its equals sign. */
export function matchCookie(text: string, equalsIndex: number): SecretSpan | undefined {
  const value = /^[^\s;"'\\,=]{16,4096}={0,2}/.exec(text.slice(equalsIndex + 1, equalsIndex + 4_097))?.[0];
  if (value === undefined || isPlaceholder(value) || !isGenerated(value, 4)) return undefined;
  return { startIndex: equalsIndex + 1, endIndex: equalsIndex + 1 + value.length, type: "cookie" };
}

const LETTER_E = "e".charCodeAt(0);
const MAX_HEADER_CHARS = 8_192;
