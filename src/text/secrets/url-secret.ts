import { ALPHANUMERIC } from "./alphabet.ts";
import { isPlaceholder, isStockPassword } from "./placeholder-value.ts";
import { withVendor } from "./run-token.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";
import { matchWebhook } from "./webhook.ts";

/** Finds the secret of an address whose "://" stands at the index: a password or token before the host, or a webhook. */
export function matchUrlSecret(text: string, colonIndex: number): SecretSpan | undefined {
  if (text.charAt(colonIndex + 1) !== "/" && text.charAt(colonIndex + 1) !== "\\") return undefined;
  const slashes = /^:(?:\/\/|\\\/\\\/)/.exec(text.slice(colonIndex, colonIndex + 5))?.[0];
  if (slashes === undefined) return undefined;
  const authorityIndex = colonIndex + slashes.length;
  const first = text.charCodeAt(authorityIndex);
  if (!ALPHANUMERIC.has(first) && first !== COLON) return undefined;
  return matchCredentials(text, authorityIndex) ?? matchWebhook(text, authorityIndex);
}

const COLON = ":".charCodeAt(0);
const MAX_AUTHORITY_CHARS = 512;
const AUTHORITY = /^[^\s"'`<>/?#\\]*/;
// A password may hold a raw slash or hash, but then a host must follow it.
const LOOSE_USER_INFO = /^[^\s"'`<>:/?#@]*:[^\s"'`<>@]+@(?=[\w.-]+[:/?\s]|[\w.-]+$)/;

function matchCredentials(text: string, authorityIndex: number): SecretSpan | undefined {
  const ahead = text.slice(authorityIndex, authorityIndex + MAX_AUTHORITY_CHARS);
  const authority = AUTHORITY.exec(ahead)?.[0] ?? "";
  const whole = authority.includes("@") ? authority : (LOOSE_USER_INFO.exec(ahead)?.[0] ?? "");
  const userInfo = whole.slice(0, Math.max(0, whole.lastIndexOf("@")));
  const colonChars = userInfo.indexOf(":");
  const user = colonChars < 0 ? userInfo : userInfo.slice(0, colonChars);
  const password = colonChars < 0 ? "" : userInfo.slice(colonChars + 1);

  if (password === "" || password === "x-oauth-basic") {
    if (user.length < 16 || isPlaceholder(user) || !isGenerated(user, 4)) return undefined;
    return withVendor(text, {
      startIndex: authorityIndex,
      endIndex: authorityIndex + user.length,
      type: "url-token",
    });
  }
  if (password.length < 4 || password === user || isPlaceholder(password) || isStockPassword(password)) {
    return undefined;
  }
  // A port, also before a path in which an "@" stands.
  if (/^\d{1,5}(?:$|[/?#])|^[:/%$@{<]/.test(password)) return undefined;
  return withVendor(text, {
    startIndex: authorityIndex + colonChars + 1,
    endIndex: authorityIndex + userInfo.length,
    type: "url-password",
  });
}
