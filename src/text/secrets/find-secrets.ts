import { BASE64, DIGIT, DOTTED, endOfRun, isIn } from "./alphabet.ts";
import { matchArgument, matchAssignment, matchElement } from "./assignment.ts";
import { decodeBase64Text } from "./base64-text.ts";
import { cookieHeaderEnd, matchCookie } from "./cookie.ts";
import { matchMarkedToken, matchPasswordHash, matchPasswordLine } from "./marked-token.ts";
import { opaqueFieldEnd } from "./opaque-field.ts";
import { PLACEHOLDER, touchesPlaceholder } from "./placeholder.ts";
import { matchKeyLines, matchPrivateKeyBlock, matchPrivateKeyTail } from "./private-key-block.ts";
import { MIN_TOKEN_CHARS, matchRunToken } from "./run-token.ts";
import type { SecretSpan } from "./secret-span.ts";
import { matchUrlSecret } from "./url-secret.ts";
import { matchVendorToken } from "./vendor-token.ts";
import { matchGluedPassword, matchWordSecret, mayAnnounce } from "./word-secret.ts";

/** Finds every secret of a text in one pass, in order and without overlap. */
export function findSecrets(text: string): readonly SecretSpan[] {
  return scan(text, "look into base64");
}

type Depth = "look into base64" | "plain text only";

function scan(text: string, depth: Depth): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  let doneIndex = 0;
  let cookieEnd = 0;
  let runEnd = 0;
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    const role = code < 128 ? (ROLES[code] ?? NONE) : NONE;
    let nextIndex = index + 1;
    let span: SecretSpan | undefined;
    switch (role) {
      case RUN:
        // After a find inside a long run the rest of it must not be measured again.
        if (index >= runEnd) runEnd = endOfRun(text, index, DOTTED);
        nextIndex = runEnd;
        span = matchRun(text, index, nextIndex, doneIndex) ?? matchEncoded(text, index, nextIndex, depth);
        break;
      case COLON: {
        const opaqueEnd = opaqueFieldEnd(text, index);
        if (opaqueEnd !== undefined) nextIndex = opaqueEnd;
        else {
          if (index >= cookieEnd) cookieEnd = cookieHeaderEnd(text, index) ?? cookieEnd;
          span = matchColon(text, index);
        }
        break;
      }
      case EQUALS:
        span = (index < cookieEnd ? matchCookie(text, index) : undefined) ?? matchAssignment(text, index);
        break;
      case MARK:
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
        nextIndex += (PLACEHOLDER.exec(text)?.[0].length ?? 1) - 1;
        break;
    }
    if (span !== undefined && span.startIndex >= doneIndex && span.endIndex > index && !touchesPlaceholder(text, span)) {
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
const MARK = 4;
const DOLLAR = 5;
const BAR = 6;
const ARGUMENT = 7;
const CLOSING_ANGLE = 8;
const OPENING_BRACKET = 9;

const ROLE_OF: Readonly<Record<string, number>> = {
  ":": COLON,
  "=": EQUALS,
  "~": MARK,
  $: DOLLAR,
  "|": BAR,
  "(": ARGUMENT,
  ",": ARGUMENT,
  ">": CLOSING_ANGLE,
  "[": OPENING_BRACKET,
};
const ROLES = new Uint8Array(128).map((_, code) =>
  isIn(DOTTED, code) ? RUN : (ROLE_OF[String.fromCharCode(code)] ?? NONE),
);

function matchColon(text: string, index: number): SecretSpan | undefined {
  if (text.startsWith("Private-Lines", index - 13))
    return matchKeyLines(text, endOfRun(text, index + 2, DIGIT));
  return (
    matchUrlSecret(text, index) ??
    matchMarkedToken(text, index) ??
    matchPasswordLine(text, index) ??
    matchAssignment(text, index)
  );
}

function matchRun(
  text: string,
  startIndex: number,
  endIndex: number,
  doneIndex: number,
): SecretSpan | undefined {
  if (text.startsWith("-p", startIndex))
    return matchGluedPassword(text, startIndex) ?? matchAnnounced(text, startIndex, endIndex);
  if (text.startsWith("----", startIndex)) {
    return matchPrivateKeyBlock(text, startIndex) ?? matchPrivateKeyTail(text, startIndex, doneIndex);
  }
  if (endIndex - startIndex >= MIN_TOKEN_CHARS) {
    const token = matchRunToken(text, startIndex, endIndex);
    if (token !== undefined) return token;
  }
  const next = text.charAt(endIndex);
  // A token over base64 may break off early in this run and go on behind the mark.
  if (next === "/" || next === "+" || next === "=") return matchVendorToken(text, startIndex);
  return matchAnnounced(text, startIndex, endIndex);
}

function matchAnnounced(text: string, startIndex: number, endIndex: number): SecretSpan | undefined {
  const next = text.charAt(endIndex);
  if ((next !== " " && next !== "\t") || !mayAnnounce(text, startIndex, endIndex)) return undefined;
  return matchWordSecret(text, startIndex, endIndex);
}

const MIN_ENCODED_CHARS = 40;
const MAX_ENCODED_CHARS = 16_384;

// A settings file or key pasted as base64 is as good as in the clear, and one look inside tells.
function matchEncoded(
  text: string,
  startIndex: number,
  endIndex: number,
  depth: Depth,
): SecretSpan | undefined {
  if (depth === "plain text only" || endIndex - startIndex < MIN_ENCODED_CHARS / 2) return undefined;
  if (/[+/,]/.test(text.charAt(startIndex - 1))) return undefined;
  if (decodeBase64Text(text.slice(startIndex, startIndex + 16), 16) === undefined) return undefined;
  const encodedEnd = endOfRun(text, startIndex, BASE64, MAX_ENCODED_CHARS);
  if (encodedEnd - startIndex < MIN_ENCODED_CHARS) return undefined;
  const decoded = decodeBase64Text(text.slice(startIndex, encodedEnd), MAX_ENCODED_CHARS);
  if (decoded === undefined || scan(decoded, "plain text only").length === 0) return undefined;
  return { startIndex, endIndex: encodedEnd, type: "encoded-secret" };
}
