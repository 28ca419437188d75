import { BASE64, DIGITS, DOTTED } from "./alphabet.ts";
import { matchAnnounced } from "./announced-secret.ts";
import { matchArgument, matchElement } from "./argument.ts";
import { matchAssignment } from "./assignment.ts";
import { decodeBase64Text } from "./base64-text.ts";
import { matchGluedPassword } from "./command-option.ts";
import { cookieHeaderEnd, matchCookie } from "./cookie.ts";
import { matchMarkedToken } from "./marked-token.ts";
import { opaqueFieldEnd } from "./opaque-field.ts";
import { matchPasswordHash, matchPasswordLine } from "./password-file.ts";
import { PLACEHOLDER, touchesPlaceholder } from "./placeholder.ts";
import { matchKeyLines, matchPrivateKeyBlock, matchPrivateKeyTail } from "./private-key-block.ts";
import { MIN_TOKEN_CHARS, matchRunToken } from "./run-token.ts";
import type { SecretSpan, TextSpan } from "./secret-span.ts";
import { matchUrlSecret } from "./url-secret.ts";
import { matchVendorToken } from "./vendor-token.ts";

/** Finds every secret of a text in one pass, in order and without overlap. */
export function findSecrets(text: string): readonly SecretSpan[] {
  return scan(text, "and base64");
}

type Depth = "plain" | "and base64";

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
      case RUN: {
        // After a find inside a long run the rest of it must not be measured again.
        if (index >= runEnd) runEnd = DOTTED.endOfRun(text, index);
        nextIndex = runEnd;
        if (text.startsWith("----", index))
          span = matchKeyMarker(text, { startIndex: doneIndex, endIndex: index });
        else {
          const run = { startIndex: index, endIndex: runEnd };
          span = matchRun(text, run) ?? (depth === "plain" ? undefined : matchEncoded(text, run));
        }
        break;
      }
      case COLON: {
        const opaqueEnd = opaqueFieldEnd(text, index);
        if (opaqueEnd === undefined) span = matchColon(text, index);
        else nextIndex = opaqueEnd;
        if (index >= cookieEnd) cookieEnd = cookieHeaderEnd(text, index) ?? cookieEnd;
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
};
const ROLES = new Uint8Array(128).map((_, code) =>
  DOTTED.has(code) ? RUN : (ROLE_OF[String.fromCharCode(code)] ?? NONE),
);

function matchRun(text: string, run: TextSpan): SecretSpan | undefined {
  const isLong = run.endIndex - run.startIndex >= MIN_TOKEN_CHARS;
  const token = isLong ? matchRunToken(text, run) : undefined;
  if (token !== undefined) return token;
  const glued = matchGluedPassword(text, run.startIndex);
  if (glued !== undefined) return glued;
  const next = text.charAt(run.endIndex);
  if (next === " " || next === "\t") return matchAnnounced(text, run);
  // A token over base64 may break off early in this run and go on behind the mark.
  const mayGoOn = !isLong && (next === "/" || next === "+" || next === "=");
  return mayGoOn ? matchVendorToken(text, run.startIndex) : undefined;
}

function matchKeyMarker(text: string, untold: TextSpan): SecretSpan | undefined {
  const markerIndex = untold.endIndex;
  return (
    matchPrivateKeyBlock(text, markerIndex) ??
    matchPrivateKeyTail(text, { endLineIndex: markerIndex, limitIndex: untold.startIndex })
  );
}

function matchColon(text: string, index: number): SecretSpan | undefined {
  if (text.startsWith("Private-Lines", index - 13))
    return matchKeyLines(text, DIGITS.endOfRun(text, index + 2));
  return (
    matchUrlSecret(text, index) ??
    matchMarkedToken(text, index) ??
    matchPasswordLine(text, index) ??
    matchAssignment(text, index)
  );
}

const MIN_ENCODED_CHARS = 40;
const MAX_ENCODED_CHARS = 16_384;

// A settings file or key pasted as base64 is as good as in the clear, and one look inside tells.
function matchEncoded(text: string, { startIndex, endIndex }: TextSpan): SecretSpan | undefined {
  if (endIndex - startIndex < MIN_ENCODED_CHARS / 2 || "+/,".includes(text.charAt(startIndex - 1) || " "))
    return undefined;
  if (decodeBase64Text(text.slice(startIndex, startIndex + 16)) === undefined) return undefined;
  const ahead = text.slice(startIndex, startIndex + MAX_ENCODED_CHARS);
  const encoded = ahead.slice(0, BASE64.endOfRun(ahead, 0));
  const decoded = encoded.length < MIN_ENCODED_CHARS ? undefined : decodeBase64Text(encoded);
  if (decoded === undefined || scan(decoded, "plain").length === 0) return undefined;
  return { startIndex, endIndex: startIndex + encoded.length, type: "encoded-secret" };
}
