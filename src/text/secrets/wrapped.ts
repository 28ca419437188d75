import { createAlphabet, DIGITS } from "./alphabet.ts";
import { beginsLikeToken, matchVendorToken } from "./match-token.ts";
import { isGenerated, isMixed, randomness, type Scan, type SecretSpan } from "./secret-value.ts";

/**
 * Finds a secret that continues after a line break, as terminals, mails, shells and strings in code break long lines.
 * A prefix that both lines share (a comment, a number, a time, a diff mark) is not part of it.
 */
export function matchWrapped(text: string, breakIndex: number, scan: Scan): SecretSpan | undefined {
  const lineEnd = text.charCodeAt(breakIndex - 1) === RETURN ? breakIndex - 1 : breakIndex;
  const last = text.charCodeAt(lineEnd - 1);
  if (last === DASH && text.charCodeAt(breakIndex + 1) === DASH) return undefined;
  if (last <= BLANK || !(last > 127 || BEFORE_BREAK.has(last) || mayBeRest(text, breakIndex + 1)))
    return undefined;
  const lineIndex = text.lastIndexOf("\n", lineEnd - 1) + 1;
  const markChars = sharedMarkChars(text, lineIndex, breakIndex + 1);
  if (!mayBeRest(text, breakIndex + 1 + markChars)) return undefined;
  REST.lastIndex = breakIndex + 1 + markChars;
  const [, quote, rest = ""] = REST.exec(text) ?? [];
  const name = /^[A-Za-z_][\w.-]{0,59}(?=[=:][^=])/.exec(rest)?.[0] ?? "";
  if (rest === "" || (name !== "" && !(name.length >= 20 && isGenerated(name, 8)))) return undefined;
  const firstIndex = Math.max(lineIndex + markChars, lineEnd - MAX_FIRST_CHARS);
  const line = text.slice(firstIndex, lineEnd);
  const [joint = "", closing = ""] = JOINT.exec(line) ?? [];
  if (closing !== quote) return undefined;
  const first = line.slice(0, line.length - joint.length);
  const restEnd = REST.lastIndex;
  const after = text.slice(restEnd, restEnd + 2);
  const isClosed =
    OPEN.exec(first)?.[1] === after.charAt(0).replace("<", ">") ||
    (rest.includes("@") && ADDRESS.test(first));
  const wordIndex = startOfLastWord(first);
  const isToken = beginsLikeToken(first, wordIndex);
  if (!isToken && !mayBreak(first, wordIndex)) return undefined;
  const isHex = HEX_END.test(first) && HEX_START.test(rest);
  if (!isHex && !isClosed && !isRest(rest.slice(0, 32))) {
    // A complete token ends with its line; a password may continue with a few letters.
    const isWhole = scan(first).at(-1)?.endIndex === first.length;
    if (
      !(isWhole
        ? !isToken && ODD_CASE.test(rest) && randomness(rest.slice(0, 8)) > 0
        : isToken && MIXED.test(rest))
    )
      return undefined;
  }
  if (matchVendorToken(rest, 0) !== undefined) return undefined;
  for (const { type, ...span } of scan(first + rest + after)) {
    if (span.startIndex >= first.length || span.endIndex <= first.length) continue;
    const lead = first.slice(span.startIndex);
    // An ordinary word does not continue on the next line.
    if (!/[\d_-]|[a-zA-Z][A-Z]|:\/\//.test(lead) && randomness(lead) < 2) continue;
    return {
      startIndex: firstIndex + span.startIndex,
      endIndex: restEnd - rest.length + span.endIndex - first.length,
      type,
    };
  }
  return undefined;
}

/** The length of the prefix that two lines share, ignoring digits, up to a blank or a mark. */
function sharedMarkChars(text: string, firstIndex: number, secondIndex: number): number {
  let markChars = 0;
  for (let chars = 0; chars < MAX_MARK_CHARS; chars++) {
    const code = text.charCodeAt(firstIndex + chars);
    const other = text.charCodeAt(secondIndex + chars);
    if (code === NEWLINE || (code !== other && !(DIGITS.has(code) && DIGITS.has(other)))) break;
    if (code > 127 || END_OF_MARK.has(code)) markChars = chars + 1;
  }
  return markChars;
}

// A cheap check first. A continuation has a digit, a mark inside a word, or capitals in unusual places.
function mayBeRest(text: string, lineIndex: number): boolean {
  MAY_BE_REST.lastIndex = lineIndex;
  return MAY_BE_REST.test(text);
}

const MAY_BE_REST =
  /(?!--)[ \t>|+-]{0,20}(?!\d{4}-\d\d-|\d{1,2}:\d\d\b)(?:\S{0,31}?(?:\d|[a-z][A-Z]|[A-Z]{2}[a-z]|\w[!#%^*~]\w)|[A-Z]{5,}(?!\S))/y;

function isRest(text: string): boolean {
  return randomness(text) >= MIN_REST_RANDOMNESS || isMixed(text);
}

function startOfLastWord(text: string): number {
  let index = text.length;
  while (index > 0 && !BEFORE_WORD.has(text.charCodeAt(index - 1))) index--;
  return index;
}

function mayBreak(line: string, lastWordIndex: number): boolean {
  if (MAY_BREAK.test(line)) return true;
  // A longer word is a whole line of encoded data.
  const wordChars = line.length - lastWordIndex;
  return wordChars >= 10 && wordChars < 60 && isGenerated(line.slice(lastWordIndex), 4);
}

const MAY_BREAK =
  /pass|pwd|secret|token|key|auth|cred|bearer|kty|pw\b|ified by|_live|live_|\d\/\d{9}|:\/\/|1\/\/0|\w:[\w$]| -p\w/i;

const MIXED = /^(?:(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z\d]{5}|[A-Z\d]{5,16}$)/;
const ODD_CASE = /[a-z][A-Z]|[A-Z]{2}[a-z]|\w[!#%^*~]/;
const HEX_END = /[\da-f-]{8}$/;
const HEX_START = /^[\da-f-]{6}/;
const BEFORE_WORD = createAlphabet("\\s\"'`=,(<>");
const RETURN = "\r".charCodeAt(0);
const MAX_MARK_CHARS = 80;
const MAX_FIRST_CHARS = 240;
const MIN_REST_RANDOMNESS = 4;
const REST = /[ \t>|]{0,20}(["'`]?)([^\s"'`<\\]{5,400})/y;

// How a string in code goes on in the next line.
const JOINT = /(["'`])[ \t]?[+.&]?$|\\$|[ \t]+[|│]$/;
const OPEN = /(["'`>])[^"'`\s<>]*$/;
const ADDRESS = /:\/\/[^\s/@]*$/;
const BEFORE_BREAK = createAlphabet("\\w.+/=~\\-\"'`\\\\&!#%^*");
const END_OF_MARK = createAlphabet("\\s:|>#*/;+)\\-");
const BLANK = " ".charCodeAt(0);
const NEWLINE = "\n".charCodeAt(0);
const DASH = "-".charCodeAt(0);
