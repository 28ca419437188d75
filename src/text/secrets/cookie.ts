import { isGenerated, isPlaceholder, type SecretSpan } from "./secret-value.ts";

/** Where the cookie header of this colon ends; undefined when it belongs to no such header. */
export function cookieHeaderEnd(text: string, colonIndex: number): number | undefined {
  const last = text.charCodeAt(colonIndex - 1);
  if ((last | 32) !== LETTER_E && last !== DOUBLE_QUOTE) return undefined;
  if (!/cookie\\?["']?$/i.test(text.slice(Math.max(0, colonIndex - 9), colonIndex))) return undefined;
  const header = /^[^\r\n]*/.exec(text.slice(colonIndex, colonIndex + MAX_HEADER_CHARS))?.[0] ?? "";
  return colonIndex + header.length;
}

/** Finds the value of a session cookie, from its equals sign. */
export function matchCookie(text: string, equalsIndex: number): SecretSpan | undefined {
  const startIndex = equalsIndex + 1;
  const value = /^[^\s;"'\\,=]{16,}={0,2}/.exec(text.slice(startIndex, startIndex + MAX_COOKIE_CHARS))?.[0];
  if (value === undefined || isPlaceholder(value) || !isGenerated(value, 4)) return undefined;
  return { startIndex, endIndex: startIndex + value.length, type: "cookie" };
}

const LETTER_E = "e".charCodeAt(0);
const MAX_HEADER_CHARS = 8_192;
const MAX_COOKIE_CHARS = 4_096;
const DOUBLE_QUOTE = '"'.charCodeAt(0);
