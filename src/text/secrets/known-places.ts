import { secretOfKind, spacedName, valueAt } from "./assignment.ts";
import { withVendor } from "./match-token.ts";
import {
  decodeBase64Text,
  isGenerated,
  isMixed,
  isPlaceholder,
  isSecretValue,
  isStockPassword,
  type SecretSpan,
  secretKindOf,
  sliceSpan,
  type TextSpan,
} from "./secret-value.ts";
import { HEADER_TOKEN } from "./token-formats.ts";

/** Finds the secret that follows a word and a blank: command-line options, authorization schemes, netrc, SQL and names in prose. */
export function matchAfterWord(text: string, word: TextSpan): SecretSpan | undefined {
  if (text.charAt(word.startIndex) === "-") return matchOption(text, word);
  if (!mayPrecedeSecret(text, word)) return undefined;
  return (isAuthScheme(text, word) ? matchAuthScheme(text, word) : undefined) ?? matchNameInProse(text, word);
}

const ENDINGS: ReadonlySet<number> = new Set(
  ["en", "ey", "et", "rd", "wd", "er", "ic", "th", "ls", "se", "rt", "by", "ws", "nk", "ss", "pw"].map(
    (ending) => endingOf(ending.charCodeAt(0), ending.charCodeAt(1)),
  ),
);

function endingOf(firstCode: number, secondCode: number): number {
  return ((firstCode | 32) << 7) | (secondCode | 32);
}

// The two last letters rule out most words.
function mayPrecedeSecret(text: string, { endIndex }: TextSpan): boolean {
  return ENDINGS.has(endingOf(text.charCodeAt(endIndex - 2), text.charCodeAt(endIndex - 1)));
}

const LINK_WORD = /^[ \t]+(?:(?:is|was|to|as|are)[ \t]+)?(?:set[ \t]+to[ \t]+)?/;
const KEY_OR_COMMIT_ID = /^(?:0x)?(?:[\da-f]{16}|[\da-f]{40}|[\da-f]{64})$/i;

function matchNameInProse(text: string, word: TextSpan): SecretSpan | undefined {
  const name = spacedName(text, { text: sliceSpan(text, word), startIndex: word.startIndex });
  const before = text.slice(Math.max(0, word.startIndex - 80), word.startIndex);
  const isIdentified = word.endIndex - word.startIndex === 2 && /identified $/i.test(before);
  const kind = isIdentified ? "password" : secretKindOf(name.text);
  if (kind === undefined) return undefined;
  const gapChars = LINK_WORD.exec(text.slice(word.endIndex, word.endIndex + 24))?.[0].length ?? 1;
  const value = valueAt(text, { index: word.endIndex + gapChars, place: "spaced", kind });
  if (value === undefined) return undefined;
  const content = sliceSpan(text, value);
  // In prose ordinary words follow such names, so an unquoted value must clearly be a secret.
  const isInPlace = value.form === "quoted" || /(?:machine|login|user)[ \t]+\S+\s+$/.test(before);
  const form =
    kind === "password" && (isInPlace || (content.length >= 8 && isMixed(content))) ? "line" : "loose";
  if (kind !== "password" && KEY_OR_COMMIT_ID.test(content)) return undefined;
  return secretOfKind(text, { ...value, kind, form });
}

/** Finds the secret that follows an option: a secret-looking one, a user with password, or a known command's password. */
function matchOption(text: string, word: TextSpan): SecretSpan | undefined {
  const option = sliceSpan(text, word);
  const index = word.endIndex + 1;
  if (/^(?:-u|-U|--user|--proxy-user)$/.test(option)) return matchUserPair(text, index);
  const isPassword = /^-[pPaw]$/.test(option) && followsPasswordCommand(text, word.startIndex);
  const kind = isPassword ? "password" : secretKindOf(option);
  if (kind === undefined || text.charAt(index) === "-") return undefined;
  const value = valueAt(text, { index, place: "spaced", kind });
  return value && secretOfKind(text, { ...value, kind });
}

/** Finds the password written right behind its option `-p`, as database clients take it. */
export function matchGluedPassword(text: string, optionIndex: number): SecretSpan | undefined {
  if (!followsPasswordCommand(text, optionIndex)) return undefined;
  const value = valueAt(text, { index: optionIndex + 2, place: "spaced", kind: "password" });
  if (value === undefined || !isSecretValue(sliceSpan(text, value), { ...value, kind: "password" }))
    return undefined;
  return { startIndex: value.startIndex, endIndex: value.endIndex, type: "password" };
}

const PASSWORD_COMMAND =
  /\b(?:mysql\w*|mariadb\w*|sshpass|mongo\w*|docker login|podman login|helm registry login|az login|sqlcmd|redis-cli|ldap\w+|7z|unzip|smbclient)\b[^\n|;&]*$/;

function followsPasswordCommand(text: string, optionIndex: number): boolean {
  return PASSWORD_COMMAND.test(text.slice(Math.max(0, optionIndex - 160), optionIndex));
}

const USER_PAIR = /^\\?["']?[^\s"'\\:$]{1,100}:([^\s"'\\]{4,200})/;

function matchUserPair(text: string, index: number): SecretSpan | undefined {
  const pair = USER_PAIR.exec(text.slice(index, index + 320));
  const password = pair?.[1] ?? "";
  if (pair === null || !isSecretValue(password, { kind: "password", form: "line" })) return undefined;
  const endIndex = index + pair[0].length;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}

/** True for an authorization scheme, such as "Bearer". */
function isAuthScheme(text: string, word: TextSpan): boolean {
  return word.endIndex - word.startIndex <= LONGEST_SCHEME_CHARS && SCHEME.test(sliceSpan(text, word));
}

/** Finds the credentials that follow a scheme; ordinary words count as schemes only in an authorization header. */
function matchAuthScheme(text: string, word: TextSpan): SecretSpan | undefined {
  const scheme = sliceSpan(text, word).toLowerCase();
  const isHeader = HEADER.test(text.slice(Math.max(0, word.startIndex - 32), word.startIndex));
  if (!isHeader && scheme !== "bearer" && scheme !== "basic") return undefined;

  const startIndex = word.endIndex + 1;
  const value = text.slice(startIndex, startIndex + MAX_TOKEN_CHARS);
  const headChars = HEADER_TOKEN.endOfRun(value, 0);
  const tailEnd = /^:\w/.test(value.slice(headChars, headChars + 2))
    ? HEADER_TOKEN.endOfRun(value, headChars + 1)
    : 0;
  const token = value.slice(0, tailEnd > headChars + 8 ? tailEnd : headChars);
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
const DOUBLE_QUOTE = '"'.charCodeAt(0);
const MAX_HEADER_CHARS = 8_192;
const MAX_COOKIE_CHARS = 4_096;

/** Finds the password hash of a line of a password file, from its first dollar sign. */
export function matchPasswordHash(text: string, dollarIndex: number): SecretSpan | undefined {
  if (text.charAt(dollarIndex - 1) !== ":") return undefined;
  PASSWORD_HASH.lastIndex = dollarIndex;
  const match = PASSWORD_HASH.exec(text);
  if (match === null) return undefined;
  return { startIndex: dollarIndex, endIndex: dollarIndex + match[0].length, type: "password-hash" };
}

/** Finds the password in a line of host, port, database, user and password, from the colon after the host. */
export function matchPasswordLine(text: string, colonIndex: number): SecretSpan | undefined {
  PASSWORD_LINE.lastIndex = colonIndex;
  const match = PASSWORD_LINE.exec(text);
  const password = match?.[1] ?? "";
  if (match === null || !isSecretValue(password, { kind: "password", form: "line" })) return undefined;
  const endIndex = colonIndex + match[0].length;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}

const PASSWORD_HASH = /\$(?:apr1|[1567y]|2[abxy]|argon2\w{1,2})\$[\w./$=,+-]{20,200}/y;
const PASSWORD_LINE =
  /:(?:\d{2,5}|\*):(?:\*|[A-Za-z_][\w.-]{0,62}):[A-Za-z_][\w.-]{0,62}:([^\s:"']{6,100})(?=[\s"']|$)/y;

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

/** Finds a private member of a JSON web key, from the colon behind its name. */
export function matchKeyMember(text: string, colonIndex: number): SecretSpan | undefined {
  const quote = text.charCodeAt(colonIndex - 1);
  if (quote !== DOUBLE_QUOTE && quote !== SINGLE_QUOTE) return undefined;
  if (!/["'](?:[dkpq]|d[pq]|qi)\\*["']{1,2}$/.test(text.slice(Math.max(0, colonIndex - 8), colonIndex)))
    return undefined;
  const ahead = text.slice(colonIndex, colonIndex + MAX_KEY_CHARS);
  const [whole, value = ""] = /^:\s*\\*["']{1,2}([\w-]{16,})/.exec(ahead) ?? [];
  if (whole === undefined || !isGenerated(value, 4)) return undefined;
  if (!text.slice(Math.max(0, colonIndex - MAX_KEY_CHARS), colonIndex + MAX_KEY_CHARS).includes("kty"))
    return undefined;
  const endIndex = colonIndex + whole.length;
  return { startIndex: endIndex - value.length, endIndex, type: "private-key" };
}

/** Finds a key written as the list of its 64 bytes, from the opening bracket. */
export function matchKeyBytes(text: string, bracketIndex: number): SecretSpan | undefined {
  KEY_BYTES.lastIndex = bracketIndex;
  const list = KEY_BYTES.exec(text)?.[0] ?? "";
  const bytes = new Set(list.match(/\d+/g)?.map(Number));
  // Tables of constants hold small or few numbers.
  const largest = Math.max(...bytes);
  if (bytes.size < 40 || largest < 192 || largest > 255) return undefined;
  return { startIndex: bracketIndex + 1, endIndex: bracketIndex + list.length - 1, type: "private-key" };
}

const SINGLE_QUOTE = "'".charCodeAt(0);
const MAX_KEY_CHARS = 2_048;
const KEY_BYTES = /\[\s*(?:\d{1,3}\s*,\s*){63}\d{1,3}\s*\]/y;

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
  // A port; an "@" may stand in the path behind it.
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

/** Where the value of this colon's field ends when a provider must get it back unchanged, such as a signature or encrypted content. */
export function opaqueFieldEnd(text: string, colonIndex: number): number | undefined {
  if (text.charAt(colonIndex - 1) !== '"') return undefined;
  if (!OPAQUE_NAME.test(text.slice(Math.max(0, colonIndex - 40), colonIndex))) return undefined;
  OPAQUE_VALUE.lastIndex = colonIndex + 1;
  const value = OPAQUE_VALUE.exec(text);
  return value === null ? undefined : colonIndex + 1 + value[0].length;
}

const OPAQUE_NAME =
  /"(?:signature|thought_?signature|encrypted_?content|integrity|data|blob|reasoning_opaque|opaque)\\{0,3}"$/i;
const OPAQUE_VALUE = /\s{0,4}\\{0,3}"[\w+/=-]{48,}\\{0,3}"/y;
