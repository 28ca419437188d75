import { HEADER_TOKEN } from "./alphabet.ts";
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

// A cheap check first: the last two letters rule out most words.
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

/** Finds the password written directly after `-p`, as database clients accept it. */
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
