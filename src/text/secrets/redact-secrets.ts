import { anyText, listOf, NO_OPTIONS, objectOf, optionsCheck, required, rule, type Shape } from "../check.ts";
import { matchAfterWord, matchGluedPassword } from "./after-word.ts";
import { ANY_BASE64, DIGITS, DOTTED } from "./alphabet.ts";
import { matchArgument, matchAssignment, matchElement } from "./assignment.ts";
import { cookieHeaderEnd, matchCookie } from "./cookie.ts";
import { findEscaped } from "./escaped.ts";
import { matchKeyBytes, matchKeyMember } from "./key-material.ts";
import { MIN_TOKEN_CHARS, matchMarkedToken, matchRunToken, matchStart } from "./match-token.ts";
import { opaqueFieldEnd } from "./opaque-field.ts";
import { matchPasswordHash, matchPasswordLine } from "./password-file.ts";
import { PLACEHOLDER, placeholderFor, touchesPlaceholder } from "./placeholder.ts";
import { keyMarkOf, matchKeyLines, matchPrivateKey } from "./private-key.ts";
import { decodeBase64Text, type SecretSpan, sliceSpan, type TextSpan } from "./secret-value.ts";
import { matchOraclePassword, matchUrlSecret } from "./url-secret.ts";
import { matchWrapped } from "./wrapped.ts";

/**
 * Replaces each secret by a placeholder with its type and a short hash. Gives the same reference when there is none.
 * `scan` walks the text once and asks, by the character it meets:
 * - `match-token.ts`: is it a vendor's token? The tables are in `token-formats.ts`.
 * - `assignment.ts`: is it the value of a name such as `password`?
 * - `after-word.ts` (options, authorization schemes, prose), `url-secret.ts`, `cookie.ts`, `password-file.ts`,
 *   `private-key.ts`, `key-material.ts`: is it in a place where secrets stand? `opaque-field.ts` names the fields that
 *   are never changed.
 * - `escaped.ts`, `wrapped.ts`: is it encoded, or broken over two lines?
 *
 * `secret-value.ts` tells a secret from a word, a path or a placeholder. A value that was found once is also looked for
 * in the rest of the text.
 */
export function redactSecrets(text: string, options: RedactOptions = NO_OPTIONS): string {
  return redactSecretsWithReport(text, options).text;
}

/** A rule of your own: what the pattern matches (its first group, when it has one) is a secret of this type. */
export interface SecretRule {
  readonly type: string;
  readonly pattern: RegExp;
}

/** How secrets are found. */
export interface RedactOptions {
  /**
   * Keys the short hashes, so that placeholders of two projects cannot be compared.
   * @default none
   * @from this project
   * @when placeholders of two projects must not be compared
   */
  readonly key?: string;
  /** Tried before the built-in rules. @default none @from this project @when you have secrets of your own form */
  readonly extraRules?: readonly SecretRule[];
}

/** A redacted text and how many secrets of each type were in it. */
export interface RedactedText {
  readonly text: string;
  readonly found: readonly { readonly type: string; readonly count: number }[];
}

/** Like `redactSecrets`, with the number of secrets found of each type. */
export function redactSecretsWithReport(text: string, options: RedactOptions = NO_OPTIONS): RedactedText {
  checkOptions(options);
  const { key = "", extraRules = [] } = options;
  const counts = new Map<string, number>();
  const known = new Map<string, string>();
  const hide = (before: string, spans: readonly SecretSpan[]): string => {
    const pieces: string[] = [];
    let copiedUntil = 0;
    for (const span of spans) {
      const secret = sliceSpan(before, span);
      if (!known.has(secret) && DISTINCT.test(secret)) known.set(secret, span.type);
      pieces.push(
        before.slice(copiedUntil, span.startIndex),
        placeholderFor({ secret, type: span.type, key }),
      );
      counts.set(span.type, (counts.get(span.type) ?? 0) + 1);
      copiedUntil = span.endIndex;
    }
    return spans.length === 0 ? before : pieces.join("") + before.slice(copiedUntil);
  };

  let redacted = text;
  for (const rule of extraRules) redacted = hide(redacted, findByRule(redacted, rule));
  // Replacing a secret can reveal one right beside it: repeated until nothing is found, so that redaction is idempotent.
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const spans = findSecrets(redacted);
    if (spans.length === 0) break;
    redacted = hide(redacted, spans);
    if (known.size > 0) redacted = hide(redacted, findAgain(redacted, known));
  }
  return { text: redacted, found: Array.from(counts, ([type, count]) => ({ type, count })) };
}

const MAX_PASSES = 8;

/** Finds values again that were recognised by their context before, where they stand without it. */
function findAgain(text: string, known: ReadonlyMap<string, string>): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  if (known.size <= FEW && !Array.from(known.keys()).some((secret) => text.includes(secret))) return spans;
  for (const { 0: run, index } of text.matchAll(WHOLE_RUNS)) {
    const type = known.get(run);
    if (type !== undefined) spans.push({ startIndex: index, endIndex: index + run.length, type });
  }
  return spans;
}

const FEW = 8;
const WHOLE_RUNS = /[\w!$%&+@^-]+(?:\.[\w!$%&+@^-]+)*/g;

/** Only distinctive values are searched again: a word followed by a number may mean something else elsewhere. */
const DISTINCT = /^(?=\D*\d)(?![A-Za-z]*[\d.]*$)[\w!$%&+.@^-]{8,200}$/;

/** What the options of `redactSecrets` may be. */
export const REDACT_SHAPE: Shape<RedactOptions> = {
  key: anyText,
  extraRules: listOf(
    objectOf({
      type: required(anyText),
      pattern: required(rule("a regular expression", (value) => value instanceof RegExp)),
    }),
  ),
};

const checkOptions = optionsCheck(REDACT_SHAPE);

function findByRule(text: string, { type, pattern }: SecretRule): readonly SecretSpan[] {
  const safeType =
    type
      .toLowerCase()
      .replace(/[^a-z\d-]+/g, "-")
      .slice(0, 40) || "secret";
  const flags = new Set(`${pattern.flags.replace("y", "")}gd`);
  // Placeholders match first, so that a wide rule does not redact them again.
  const search = new RegExp(`(?:${PLACEHOLDER.source})|(?:${pattern.source})`, [...flags].join(""));
  const spans: SecretSpan[] = [];
  for (const match of text.matchAll(search)) {
    const [startIndex, endIndex] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
    if (endIndex > startIndex && !match[0].startsWith("[REDACTED:"))
      spans.push({ startIndex, endIndex, type: safeType });
  }
  return spans;
}

/** Finds secrets of a text in order and without overlap: those in escapes, or when there are none all others. */
function findSecrets(text: string): readonly SecretSpan[] {
  const escaped = findEscaped(text, scanPlain).filter((span) => !touchesPlaceholder(text, span));
  return escaped.length > 0 ? escaped : scan(text, "and other writing");
}

/** Plain text, or also what is in base64 or broken over two lines. */
type Depth = "plain" | "and other writing";

function scanPlain(text: string): readonly SecretSpan[] {
  return scan(text, "plain");
}

function scan(text: string, depth: Depth): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  let doneIndex = 0;
  let cookieEnd = 0;
  let runEnd = 0;
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    const role = code < 128 ? (ROLES[code] ?? NONE) : NONE;
    if (role === NONE) {
      index++;
      continue;
    }
    let nextIndex = index + 1;
    let span: SecretSpan | undefined;
    switch (role) {
      case RUN: {
        // After a match inside a long run, its end is already known.
        if (index >= runEnd) runEnd = DOTTED.endOfRun(text, index);
        nextIndex = runEnd;
        const run = { startIndex: index, endIndex: runEnd };
        const markIndex = keyMarkOf(text, run);
        if (markIndex !== undefined) span = matchPrivateKey(text, { markIndex, limitIndex: doneIndex });
        else span = matchRun(text, run) ?? (depth === "plain" ? undefined : matchEncoded(text, run));
        break;
      }
      case COLON: {
        const opaqueEnd = opaqueFieldEnd(text, index);
        if (opaqueEnd === undefined) span = matchColon(text, index);
        else nextIndex = opaqueEnd;
        cookieEnd = cookieHeaderEnd(text, index) ?? cookieEnd;
        break;
      }
      case EQUALS:
        span = (index < cookieEnd ? matchCookie(text, index) : undefined) ?? matchAssignment(text, index);
        break;
      case TILDE:
        span = matchMarkedToken(text, index);
        break;
      case DOLLAR:
        span = matchPasswordHash(text, index) ?? matchMarkedToken(text, index);
        break;
      case BAR:
        span = matchMarkedToken(text, index);
        if (text.charAt(index - 1) === " ") span ??= matchAssignment(text, index);
        break;
      case ARGUMENT:
        span = matchArgument(text, index);
        break;
      case CLOSING_ANGLE:
        span = matchElement(text, index);
        break;
      case OPENING_BRACKET:
        PLACEHOLDER.lastIndex = index;
        nextIndex = index + (PLACEHOLDER.exec(text)?.[0].length ?? 1);
        span = matchKeyBytes(text, index);
        break;
      case LINE_BREAK:
        if (depth === "plain") break;
        span = matchWrapped(text, index, scanPlain);
        // The part before the line break may already be a match of its own.
        if (span !== undefined && span.startIndex <= (spans.at(-1)?.startIndex ?? -1)) {
          spans.pop();
          doneIndex = spans.at(-1)?.endIndex ?? 0;
        }
        break;
    }
    const isNew = span !== undefined && span.startIndex >= doneIndex && span.endIndex > index;
    if (span !== undefined && isNew && !touchesPlaceholder(text, span)) {
      spans.push(span);
      doneIndex = span.endIndex;
      nextIndex = span.endIndex;
    }
    index = nextIndex;
  }
  return spans;
}

const NONE = 0;
const RUN = 1;
const COLON = 2;
const EQUALS = 3;
const TILDE = 4;
const DOLLAR = 5;
const BAR = 6;
const ARGUMENT = 7;
const CLOSING_ANGLE = 8;
const OPENING_BRACKET = 9;
const LINE_BREAK = 10;

const ROLE_OF: Readonly<Record<string, number>> = {
  ":": COLON,
  "=": EQUALS,
  "~": TILDE,
  $: DOLLAR,
  "|": BAR,
  "(": ARGUMENT,
  ",": ARGUMENT,
  ">": CLOSING_ANGLE,
  "[": OPENING_BRACKET,
  "\n": LINE_BREAK,
};
const ROLES = new Uint8Array(128).map((_, code) =>
  DOTTED.has(code) ? RUN : (ROLE_OF[String.fromCharCode(code)] ?? NONE),
);

function matchRun(text: string, run: TextSpan): SecretSpan | undefined {
  const isLong = run.endIndex - run.startIndex >= MIN_TOKEN_CHARS;
  const token = isLong ? matchRunToken(text, run) : undefined;
  if (token !== undefined) return token;
  const glued = text.startsWith("-p", run.startIndex) ? matchGluedPassword(text, run.startIndex) : undefined;
  if (glued !== undefined) return glued;
  const next = text.charAt(run.endIndex);
  if (next === " " || next === "\t") return matchAfterWord(text, run);
  // A base64 or URL token may continue after a character that ends this run.
  const mayGoOn = !isLong && (next === "/" || next === "+" || next === "=" || next === "%");
  return mayGoOn ? matchStart(text, run) : undefined;
}

function matchColon(text: string, index: number): SecretSpan | undefined {
  if (text.startsWith("Private-Lines", index - 13))
    return matchKeyLines(text, DIGITS.endOfRun(text, index + 2));
  return (
    matchUrlSecret(text, index) ??
    matchMarkedToken(text, index) ??
    matchPasswordLine(text, index) ??
    matchOraclePassword(text, index) ??
    matchKeyMember(text, index) ??
    matchAssignment(text, index)
  );
}

const MIN_ENCODED_CHARS = 28;
const MAX_ENCODED_CHARS = 16_384;

// A settings file or a key pasted as base64 is as readable as plain text.
function matchEncoded(text: string, { startIndex, endIndex }: TextSpan): SecretSpan | undefined {
  if (endIndex - startIndex < 20 || "+/,".includes(text.charAt(startIndex - 1) || " ")) return undefined;
  if (decodeBase64Text(text.slice(startIndex, startIndex + 16)) === undefined) return undefined;
  const ahead = text.slice(startIndex, startIndex + MAX_ENCODED_CHARS);
  const lineChars = ANY_BASE64.endOfRun(ahead, 0);
  if (lineChars < MIN_ENCODED_CHARS) return undefined;
  const isFirstLine =
    lineChars >= MIN_LINE_CHARS &&
    !FULL_LINE.test(text.slice(Math.max(0, startIndex - MIN_LINE_CHARS), startIndex));
  const ends = isFirstLine ? encodedLineEnds(ahead, lineChars) : [lineChars];
  // Also tried without the last line, which may not belong to it.
  for (const endChars of ends.slice(-2).reverse()) {
    const decoded = decodeBase64Text(ahead.slice(0, endChars));
    if (decoded !== undefined && scanPlain(decoded).length > 0)
      return { startIndex, endIndex: startIndex + endChars, type: "encoded-secret" };
  }
  return undefined;
}

/** Where the lines end that a long base64 text is broken into: all as long as the first, but the last. */
function encodedLineEnds(text: string, lineChars: number): readonly number[] {
  const ends = [lineChars];
  for (let endIndex = lineChars; ; ) {
    const startIndex = endIndex + (text.startsWith("\r\n", endIndex) ? 2 : 1);
    const isBroken = text.charAt(startIndex - 1) === "\n";
    endIndex = ANY_BASE64.endOfRun(text, startIndex);
    if (!isBroken || endIndex === startIndex || endIndex - startIndex > lineChars) return ends;
    ends.push(endIndex);
    if (endIndex - startIndex < lineChars) return ends;
  }
}

const MIN_LINE_CHARS = 60;
const FULL_LINE = /^[\w+/=-]{50,}\r?\n$/;
