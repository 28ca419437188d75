import { isAuthScheme, matchAuthScheme } from "./auth-scheme.ts";
import { isOption, matchOption } from "./command-option.ts";
import { spacedName } from "./name-before.ts";
import { withVendor } from "./run-token.ts";
import { secretKindOf, typeOfKind } from "./secret-name.ts";
import { type SecretSpan, type TextSpan, textOf } from "./secret-span.ts";
import { isSecretValue } from "./secret-value.ts";
import { valueAt } from "./value-at.ts";

/** Finds the secret that a word announces across a blank: options, header schemes, netrc, SQL and names in prose. */
export function matchAnnounced(text: string, word: TextSpan): SecretSpan | undefined {
  if (isOption(text, word)) return matchOption(text, word);
  if (!mayAnnounce(text, word)) return undefined;
  return (isAuthScheme(text, word) ? matchAuthScheme(text, word) : undefined) ?? matchNamed(text, word);
}

const ENDINGS: ReadonlySet<number> = new Set(
  ["en", "ey", "et", "rd", "wd", "er", "ic", "th", "ls", "se", "rt", "by", "ws", "nk"].map((ending) =>
    endingOf(ending.charCodeAt(0), ending.charCodeAt(1)),
  ),
);

function endingOf(firstCode: number, secondCode: number): number {
  return ((firstCode | 32) << 7) | (secondCode | 32);
}

// Most words are dismissed by their two last letters.
function mayAnnounce(text: string, { startIndex, endIndex }: TextSpan): boolean {
  if (endIndex - startIndex < 2) return false;
  return ENDINGS.has(endingOf(text.charCodeAt(endIndex - 2), text.charCodeAt(endIndex - 1)));
}

const LINK_WORD = /^[ \t]+(?:(?:is|was|to|as|are)[ \t]+)?(?:set[ \t]+to[ \t]+)?/;
const KEY_OR_COMMIT_ID = /^(?:0x)?(?:[\da-f]{16}|[\da-f]{40}|[\da-f]{64})$/i;

function matchNamed(text: string, word: TextSpan): SecretSpan | undefined {
  const name = spacedName(text, { text: textOf(text, word), startIndex: word.startIndex });
  const before = text.slice(Math.max(0, word.startIndex - 80), word.startIndex);
  const isIdentified = /^by$/i.test(name.text) && /identified $/i.test(before);
  const kind = isIdentified ? "password" : secretKindOf(name.text);
  if (kind === undefined) return undefined;
  const gapChars = LINK_WORD.exec(text.slice(word.endIndex, word.endIndex + 24))?.[0].length ?? 1;
  const value = valueAt(text, { index: word.endIndex + gapChars, place: "spaced" });
  if (value === undefined) return undefined;
  const content = textOf(text, value);
  // Prose is full of words after such names, so an unquoted value must be beyond doubt.
  const isInPlace = value.form === "quoted" || /(?:machine|login|user)[ \t]+\S+\s+$/.test(before);
  const form = kind === "password" && (isInPlace || isMixed(content)) ? "line" : "loose";
  if (!isSecretValue(content, { kind, form })) return undefined;
  if (kind !== "password" && KEY_OR_COMMIT_ID.test(content)) return undefined;
  return withVendor(text, { ...value, type: typeOfKind(kind) });
}

function isMixed(value: string): boolean {
  return value.length >= 8 && /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
}
