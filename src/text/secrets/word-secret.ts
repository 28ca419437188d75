import { endOfRun, HEADER_TOKEN } from "./alphabet.ts";
import { decodeBase64Text } from "./base64-text.ts";
import { isPlaceholder } from "./placeholder-value.ts";
import { namedSpan } from "./run-token.ts";
import { secretKindOf, typeOfKind } from "./secret-name.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isGenerated, isSecretValue } from "./secret-value.ts";
import { valueAt } from "./value-at.ts";

/** Finds the secret that follows a word after a blank: flags, header schemes, netrc and SQL, names in prose. */
export function matchWordSecret(text: string, startIndex: number, endIndex: number): SecretSpan | undefined {
  const word = text.slice(startIndex, endIndex);
  if (word.startsWith("-")) return matchFlag(text, word, startIndex, endIndex);
  if (SCHEME.test(word)) return matchScheme(text, word.toLowerCase(), startIndex, endIndex);
  return matchNamed(text, word, startIndex, endIndex);
}

/** Tells cheaply, by its two last characters, whether a word can announce a secret. */
export function mayAnnounce(text: string, startIndex: number, endIndex: number): boolean {
  if (text.charCodeAt(startIndex) === DASH) return true;
  if (endIndex - startIndex < 2) return false;
  return ENDINGS.has(((text.charCodeAt(endIndex - 2) | 32) << 7) | (text.charCodeAt(endIndex - 1) | 32));
}

const DASH = 45;
const ENDINGS: ReadonlySet<number> = new Set(
  ["en", "ey", "et", "rd", "wd", "ss", "er", "ic", "th", "ls", "se", "rt", "by", "ws", "nk"].map(
    (ending) => (ending.charCodeAt(0) << 7) | ending.charCodeAt(1),
  ),
);

const SCHEME = /^(?:bearer|basic|token|apikey|api-key|ssws|geniekey|splunk|key)$/i;

function matchScheme(
  text: string,
  scheme: string,
  startIndex: number,
  endIndex: number,
): SecretSpan | undefined {
  const before = text.slice(Math.max(0, startIndex - 32), startIndex);
  const isHeader = /authorization\\?["']?\s*[:=,(]\s*\\?["'`]?$/i.test(before);
  if (!isHeader && scheme !== "bearer" && scheme !== "basic")
    return matchNamed(text, scheme, startIndex, endIndex);

  const valueIndex = endIndex + 1;
  const valueEnd = endOfRun(text, valueIndex, HEADER_TOKEN, 8_192);
  const value = text.slice(valueIndex, valueEnd);
  if (value.length < 8 || isPlaceholder(value)) return undefined;
  const span = { startIndex: valueIndex, endIndex: valueEnd };
  if (scheme === "basic") {
    const isCredentials = decodeBase64Text(value, 256)?.includes(":") === true;
    return isCredentials || (isHeader && isGenerated(value, 4)) ? { ...span, type: "basic-auth" } : undefined;
  }
  const isToken = isHeader ? isGenerated(value, 2) : value.length >= 16 && isGenerated(value, 4);
  return isToken ? namedSpan(text, span, scheme === "bearer" ? "bearer-token" : "token") : undefined;
}

function matchFlag(text: string, flag: string, startIndex: number, endIndex: number): SecretSpan | undefined {
  const valueIndex = endIndex + 1;
  if (/^(?:-u|--user|--proxy-user|-U)$/.test(flag)) return matchUserPair(text, valueIndex);
  const isSecretFlag =
    secretKindOf(flag) ?? (isPasswordOption(text, flag, startIndex) ? "password" : undefined);
  if (isSecretFlag === undefined || text.charAt(valueIndex) === "-") return undefined;
  const value = valueAt(text, valueIndex, "spaced");
  if (value === undefined) return undefined;
  const content = text.slice(value.startIndex, value.endIndex);
  if (!isSecretValue(content, isSecretFlag, value.form)) return undefined;
  return namedSpan(text, value, typeOfKind(isSecretFlag));
}

const PASSWORD_COMMAND =
  /\b(?:mysql\w*|mariadb\w*|sshpass|mongo\w*|docker login|podman login|helm registry login|az login|sqlcmd|redis-cli|ldap\w+|7z|unzip|smbclient)\b[^\n|;&]*$/;

function isPasswordOption(text: string, flag: string, startIndex: number): boolean {
  if (!/^-[pPaw]$/.test(flag)) return false;
  return PASSWORD_COMMAND.test(text.slice(Math.max(0, startIndex - 160), startIndex));
}

/** Finds the password that is written right behind its option, as database clients take it. */
export function matchGluedPassword(text: string, startIndex: number): SecretSpan | undefined {
  if (!text.startsWith("-p", startIndex) || !isPasswordOption(text, "-p", startIndex)) return undefined;
  const value = valueAt(text, startIndex + 2, "spaced");
  if (value === undefined) return undefined;
  const isSecret = isSecretValue(text.slice(value.startIndex, value.endIndex), "password", value.form);
  return isSecret ? namedSpan(text, value, "password") : undefined;
}

function matchUserPair(text: string, valueIndex: number): SecretSpan | undefined {
  const pair = /^\\?["']?([^\s"'\\:$]{1,100}):([^\s"'\\]{4,200})/.exec(
    text.slice(valueIndex, valueIndex + 320),
  );
  const password = pair?.[2] ?? "";
  if (pair === null || !isSecretValue(password, "password", "line")) return undefined;
  const endIndex = valueIndex + pair[0].length;
  return { startIndex: endIndex - password.length, endIndex, type: "password" };
}

const LINK_WORD = /^[ \t]+(?:(?:is|was|to|as|are)[ \t]+)?(?:set[ \t]+to[ \t]+)?/;

function matchNamed(
  text: string,
  word: string,
  startIndex: number,
  endIndex: number,
): SecretSpan | undefined {
  const before = text.slice(Math.max(0, startIndex - 80), startIndex);
  const name = SPACED_NOUN.test(word) ? `${/(?:[A-Za-z]+ ){1,2}$/.exec(before)?.[0] ?? ""}${word}` : word;
  // On its own "pass" is a verb more often than a name.
  const kind = isIdentified(word, before)
    ? "password"
    : /^pass$/i.test(name)
      ? undefined
      : secretKindOf(name);
  if (kind === undefined) return undefined;
  const gap = LINK_WORD.exec(text.slice(endIndex, endIndex + 24))?.[0].length ?? 1;
  const value = valueAt(text, endIndex + gap, "spaced");
  if (value === undefined) return undefined;
  const content = text.slice(value.startIndex, value.endIndex);
  // Prose is full of words after such names, so an unquoted value must be beyond doubt.
  const isKnownPlace = value.form === "quoted" || /(?:machine|login|user)[ \t]+\S+\s+$/.test(before);
  const isSecret =
    kind === "password"
      ? isSecretValue(content, kind, isKnownPlace ? "line" : "loose") || isStrongPassword(content)
      : isSecretValue(content, kind, "loose") &&
        !/^(?:0x)?(?:[\da-f]{16}|[\da-f]{40}|[\da-f]{64})$/i.test(content);
  if (!isSecret) return undefined;
  return namedSpan(text, value, typeOfKind(kind));
}

const SPACED_NOUN = /^(?:key|token|password|secret)$/i;

function isIdentified(word: string, before: string): boolean {
  return /^by$/i.test(word) && /identified $/i.test(before);
}

function isStrongPassword(value: string): boolean {
  return /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)\S{8,64}$/.test(value) && isSecretValue(value, "password", "line");
}
