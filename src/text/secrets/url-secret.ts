import { withVendor } from "./match-token.ts";
import { isGenerated, isPlaceholder, isStockPassword, type SecretSpan } from "./secret-value.ts";

/** Finds the secret of a URL from its "://": a password or token before the host, or a webhook. */
export function matchUrlSecret(text: string, colonIndex: number): SecretSpan | undefined {
  if (text.charAt(colonIndex + 1) !== "/" && text.charAt(colonIndex + 1) !== "\\") return undefined;
  const slashes = /^:(?:\/\/|\\\/\\\/)/.exec(text.slice(colonIndex, colonIndex + 5))?.[0];
  if (slashes === undefined) return undefined;
  const authorityIndex = colonIndex + slashes.length;
  return matchCredentials(text, authorityIndex) ?? matchWebhook(text, authorityIndex);
}

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
  // What looks like a password is a port; the "@" is in the path.
  if (/^\d{1,5}(?:$|[/?#])|^[:/%$@{<]/.test(password)) return undefined;
  return withVendor(text, {
    startIndex: authorityIndex + colonChars + 1,
    endIndex: authorityIndex + userInfo.length,
    type: "url-password",
  });
}

/** Finds a webhook or keyed address from its host: knowing the address is enough to use it, so all of it is the secret. */
function matchWebhook(text: string, hostIndex: number): SecretSpan | undefined {
  for (const [type, pattern] of WEBHOOKS) {
    pattern.lastIndex = hostIndex;
    const match = pattern.exec(text);
    if (match === null || isPlaceholder(match[0])) continue;
    const scheme = /[a-z]{2,8}:\/\/$/i.exec(text.slice(Math.max(0, hostIndex - 11), hostIndex))?.[0] ?? "";
    return { startIndex: hostIndex - scheme.length, endIndex: hostIndex + match[0].length, type };
  }
  return undefined;
}

const WEBHOOKS: readonly (readonly [type: string, pattern: RegExp])[] = [
  ["slack-webhook", /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/[\w/]{20,200}/y],
  [
    "discord-webhook",
    /(?:\w{1,20}\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{5,30}\/[\w-]{20,200}/y,
  ],
  ["teams-webhook", /[\w-]{1,80}\.webhook\.office\.com\/webhookb2\/[\w@/-]{40,400}/y],
  ["teams-webhook", /outlook\.office(?:365)?\.com\/webhook\/[\w@/-]{40,400}/y],
  ["zapier-webhook", /hooks\.zapier\.com\/hooks\/(?:catch|standard)\/\d+\/\w{5,40}/y],
  ["make-webhook", /hook\.(?:\w{1,10}\.)?(?:make|integromat)\.com\/\w{20,60}/y],
  ["feishu-webhook", /open\.(?:feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/[\w-]{20,60}/y],
  ["ifttt-webhook", /maker\.ifttt\.com\/(?:use|trigger\/[\w-]{1,60}(?:\/json)?\/with\/key)\/[\w-]{20,60}/y],
  ["tines-webhook", /[\w-]{1,80}\.tines\.com\/webhook\/\w{20,40}\/\w{20,40}/y],
  ["pagerduty-key", /events\.pagerduty\.com\/integration\/[a-f0-9]{20,40}/y],
  ["alchemy-key", /[\w-]{1,80}\.g\.alchemy\.com\/(?:nft\/)?v\d\/[\w-]{20,60}/y],
  ["infura-key", /[\w-]{1,80}\.infura\.io\/(?:ws\/)?v\d\/[a-f0-9]{32}/y],
  ["mattermost-webhook", /[\w.-]{1,100}\/hooks\/[a-z0-9]{26}(?!\w)/y],
];

/** Finds the password of an Oracle address such as "jdbc:oracle:thin:scott/…@host", from the colon before "thin". */
export function matchOraclePassword(text: string, colonIndex: number): SecretSpan | undefined {
  if (!text.startsWith(":thin:", colonIndex)) return undefined;
  const ahead = text.slice(colonIndex, colonIndex + MAX_AUTHORITY_CHARS);
  const [whole = "", password = ""] =
    /^:thin:[\w.$#"-]{1,60}\/([^\s@"'\\]{4,100}|"[^"\n]{4,100}")@/.exec(ahead) ?? [];
  if (password === "" || isPlaceholder(password) || isStockPassword(password)) return undefined;
  const endIndex = colonIndex + whole.length - 1;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}
