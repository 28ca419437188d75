import { HEADER_TOKEN } from "./alphabet.ts";
import { decodeBase64Text } from "./base64-text.ts";
import { isPlaceholder, isStockPassword } from "./placeholder-value.ts";
import { withVendor } from "./run-token.ts";
import { type SecretSpan, type TextSpan, textOf } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";

/** Tells whether a word names a way to authorize, such as "Bearer". */
export function isAuthScheme(text: string, word: TextSpan): boolean {
  return word.endIndex - word.startIndex <= LONGEST_SCHEME_CHARS && SCHEME.test(textOf(text, word));
}

/** Finds the credentials that follow a scheme; ordinary words count as schemes only in an authorization header. */
export function matchAuthScheme(text: string, word: TextSpan): SecretSpan | undefined {
  const scheme = textOf(text, word).toLowerCase();
  const isHeader = HEADER.test(text.slice(Math.max(0, word.startIndex - 32), word.startIndex));
  if (!isHeader && scheme !== "bearer" && scheme !== "basic") return undefined;

  const startIndex = word.endIndex + 1;
  const value = text.slice(startIndex, startIndex + MAX_TOKEN_CHARS);
  const token = value.slice(0, HEADER_TOKEN.endOfRun(value, 0));
  if (token.length < 8 || isPlaceholder(token)) return undefined;
  const span = { startIndex, endIndex: startIndex + token.length };
  if (scheme === "basic") {
    const isCredentials = holdsCredentials(token) ?? (isHeader && isGenerated(token, 4));
    return isCredentials ? { ...span, type: "basic-auth" } : undefined;
  }
  const isToken = isHeader ? isGenerated(token, 2) : token.length >= 16 && isGenerated(token, 4);
  return isToken
    ? withVendor(text, { ...span, type: scheme === "bearer" ? "bearer-token" : "token" })
    : undefined;
}

const LONGEST_SCHEME_CHARS = 8;
const MAX_TOKEN_CHARS = 8_192;
const SCHEME = /^(?:bearer|basic|token|apikey|api-key|ssws|geniekey|splunk|key)$/i;
const HEADER = /authorization\\?["']?\s*[:=,(]\s*\\?["'`]?$/i;

function holdsCredentials(token: string): boolean | undefined {
  const [user, password] = decodeBase64Text(token.slice(0, 256))?.split(":", 2) ?? [];
  if (user === undefined || password === undefined) return undefined;
  return password !== "" && !isStockPassword(password);
}
