import { ALPHANUMERIC, isIn } from "./alphabet.ts";
import { isPlaceholder, isStockPassword } from "./placeholder-value.ts";
import { namedSpan } from "./run-token.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";

/** Finds the secret of an address whose "://" stands at the index: a password or token before the host, or a webhook. */
export function matchUrlSecret(text: string, colonIndex: number): SecretSpan | undefined {
  const slashes = /^:(?:\/\/|\\\/\\\/)/.exec(text.slice(colonIndex, colonIndex + 5))?.[0];
  if (slashes === undefined) return undefined;
  const authorityIndex = colonIndex + slashes.length;
  if (!isIn(ALPHANUMERIC, text.charCodeAt(authorityIndex)) && text.charAt(authorityIndex) !== ":")
    return undefined;
  return matchCredentials(text, authorityIndex) ?? matchWebhook(text, colonIndex, authorityIndex);
}

const MAX_AUTHORITY_CHARS = 512;

function matchCredentials(text: string, authorityIndex: number): SecretSpan | undefined {
  const ahead = text.slice(authorityIndex, authorityIndex + MAX_AUTHORITY_CHARS);
  // A password may hold a raw slash or hash, but then it must end before a host.
  const authority = /^[^\s"'`<>/?#\\]*/.exec(ahead)?.[0] ?? "";
  const whole = authority.includes("@")
    ? authority
    : (/^[^\s"'`<>:/?#@]*:[^\s"'`<>@]+@(?=[\w.-]+[:/?\s]|[\w.-]+$)/.exec(ahead)?.[0] ?? "");
  const atChars = whole.lastIndexOf("@");
  if (atChars <= 0 || whole.includes("[REDACTED:")) return undefined;
  const userInfo = whole.slice(0, atChars);
  const colonChars = userInfo.indexOf(":");
  const user = colonChars < 0 ? userInfo : userInfo.slice(0, colonChars);
  const password = colonChars < 0 ? "" : userInfo.slice(colonChars + 1);

  if (password === "" || password === "x-oauth-basic") {
    if (user.length < 16 || isPlaceholder(user) || !isGenerated(user, 4)) return undefined;
    const found = { startIndex: authorityIndex, endIndex: authorityIndex + user.length };
    return namedSpan(text, found, "url-token");
  }
  if (password.length < 4 || isPlaceholder(password) || isStockPassword(password) || password === user)
    return undefined;
  if (/^\d{1,5}$|^[:/]|^[%$@{<]/.test(password)) return undefined;
  const found = { startIndex: authorityIndex + colonChars + 1, endIndex: authorityIndex + atChars };
  return namedSpan(text, found, "url-password");
}

const WEBHOOKS: readonly (readonly [type: string, pattern: RegExp])[] = [
  ["slack-webhook", /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/[\w/]{20,200}/y],
  ["discord-webhook", /(?:\w+\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{5,30}\/[\w-]{20,200}/y],
  ["teams-webhook", /[\w-]+\.webhook\.office\.com\/webhookb2\/[\w@/-]{40,400}/y],
  ["teams-webhook", /outlook\.office(?:365)?\.com\/webhook\/[\w@/-]{40,400}/y],
  ["zapier-webhook", /hooks\.zapier\.com\/hooks\/(?:catch|standard)\/\d+\/\w{5,40}/y],
  ["make-webhook", /hook\.(?:\w+\.)?(?:make|integromat)\.com\/\w{20,60}/y],
  ["feishu-webhook", /open\.(?:feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/[\w-]{20,60}/y],
  ["ifttt-webhook", /maker\.ifttt\.com\/(?:use|trigger\/[\w-]{1,60}(?:\/json)?\/with\/key)\/[\w-]{20,60}/y],
  ["pagerduty-key", /events\.pagerduty\.com\/integration\/[a-f0-9]{20,40}/y],
  ["alchemy-key", /[\w-]+\.g\.alchemy\.com\/(?:nft\/)?v\d\/[\w-]{20,60}/y],
  ["infura-key", /[\w-]+\.infura\.io\/(?:ws\/)?v\d\/[a-f0-9]{32}/y],
  ["mattermost-webhook", /[\w.-]{1,100}\/hooks\/[a-z0-9]{26}(?!\w)/y],
  ["sentry-dsn", /[a-f0-9]{32}@[\w.-]{1,100}\/\d+/y],
];

function matchWebhook(text: string, colonIndex: number, authorityIndex: number): SecretSpan | undefined {
  if (text.charAt(authorityIndex - 1) !== "/") return undefined;
  for (const [type, pattern] of WEBHOOKS) {
    pattern.lastIndex = authorityIndex;
    const match = pattern.exec(text);
    if (match === null || isPlaceholder(match[0])) continue;
    const scheme = /[a-z]{2,8}$/i.exec(text.slice(Math.max(0, colonIndex - 8), colonIndex))?.[0] ?? "";
    return { startIndex: colonIndex - scheme.length, endIndex: authorityIndex + match[0].length, type };
  }
  return undefined;
}
