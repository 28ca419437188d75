import { beginsLikeToken, matchVendorToken } from "./match-token.ts";
import { isGenerated, isMixed, randomness, type SecretSpan, type TextSpan } from "./secret-value.ts";
import { BASE64, createAlphabet, DIGITS } from "./token-formats.ts";

/** Finds the secrets of a text as it stands, without another look at how it is written. */
export type Scan = (text: string) => readonly SecretSpan[];

/** Finds secrets that are written for an address, a page or a string in code: `%3D`, `&quot;`, `\u003d`. Each line is decoded and scanned. */
export function findEscaped(text: string, scan: Scan): readonly SecretSpan[] {
  const spans: SecretSpan[] = [];
  ESCAPE.lastIndex = 0;
  for (let mark = ESCAPE.exec(text); mark !== null; mark = ESCAPE.exec(text)) {
    const line = lineAround(text, { startIndex: mark.index, endIndex: ESCAPE.lastIndex });
    const startIndex = Math.max(line.startIndex, spans.at(-1)?.endIndex ?? 0);
    const raw = text.slice(startIndex, line.endIndex);
    ESCAPE.lastIndex = line.endIndex;
    if (!MAY_HOLD_SECRET.test(raw)) continue;
    const originOf = createOrigins(raw);
    // In a form a plus stands for a blank.
    const isForm = mark[0].startsWith("%") && raw.includes("+") && !raw.includes("%20");
    for (const span of scan(decode(isForm ? raw.replaceAll("+", " ") : raw))) {
      const found = {
        startIndex: startIndex + originOf(span.startIndex),
        endIndex: startIndex + originOf(span.endIndex),
        type: span.type,
      };
      // What holds no escape is found as it stands; an encoded address may name a key that is public.
      if (found.type === "url-token") continue;
      const around = text.slice(Math.max(startIndex, found.startIndex - NAME_CHARS), found.endIndex + 6);
      const standing = matchVendorToken(text, found.startIndex)?.endIndex ?? 0;
      if (standing < found.endIndex && (isForm || around.search(ESCAPE) >= 0)) spans.push(found);
    }
    ESCAPE.lastIndex = line.endIndex;
  }
  return spans;
}

const ESCAPE = /(?:%|\\{1,8}(?:u00|x)|&#x)([2-7][\da-f]);?|%0([ad])|&#(\d{2,3});|&(quot|apos|amp|lt|gt);/gi;
const NAMED: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: "&", lt: "<", gt: ">" };
// Rules out most lines of ordinary text at once.
const MAY_HOLD_SECRET =
  /pass|pw|secret|token|key|auth|cred|bearer|kty|thin|:\/\/|%2f%2f|%5b\d|&#\d|ified|[\w-]{16}/i;
const NAME_CHARS = 40;
const MAX_BEFORE_CHARS = 1_024;
const MAX_AFTER_CHARS = 16_384;

function lineAround(text: string, { startIndex, endIndex }: TextSpan): TextSpan {
  const before = text.slice(Math.max(0, startIndex - MAX_BEFORE_CHARS), startIndex);
  const after = /^[^\n]*/.exec(text.slice(endIndex, endIndex + MAX_AFTER_CHARS))?.[0] ?? "";
  return {
    startIndex: startIndex - before.length + before.lastIndexOf("\n") + 1,
    endIndex: endIndex + after.length,
  };
}

function decode(text: string): string {
  return text.replace(ESCAPE, (_whole, hex, control, decimal, name = "") => {
    const code = decimal ? Number(decimal) : Number.parseInt(hex ?? control, 16);
    return NAMED[name.toLowerCase()] ?? String.fromCharCode(code);
  });
}

/** Where characters of the decoded text stand in the text itself; asked for in their order. */
function createOrigins(text: string): (decodedIndex: number) => number {
  ESCAPE.lastIndex = 0;
  const marks = text.matchAll(ESCAPE);
  let next = marks.next();
  let shift = 0;
  return (decodedIndex) => {
    while (!next.done && next.value.index < decodedIndex + shift) {
      shift += next.value[0].length - 1;
      next = marks.next();
    }
    return decodedIndex + shift;
  };
}

/**
 * Finds the secret that goes on behind a line break, from that break: as a terminal, a mail, a shell or a string in code
 * breaks long lines. What both lines begin with (a comment, a number, a time, the mark of a diff) is no part of it.
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
    // A token that is whole already ends its line; a password may go on in a few letters.
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
    // An ordinary word ends its line.
    if (!/[\d_-]|[a-zA-Z][A-Z]|:\/\//.test(lead) && randomness(lead) < 2) continue;
    return {
      startIndex: firstIndex + span.startIndex,
      endIndex: restEnd - rest.length + span.endIndex - first.length,
      type,
    };
  }
  return undefined;
}

/** How many characters two lines begin with alike, digits apart, up to a blank or a mark. */
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

// Rules out nearly every line: a rest has a digit, a mark in a word, or capitals where no word has them.
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
  // A longer word is a line of encoded data.
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
const BLANK = " ".charCodeAt(0);
const RETURN = "\r".charCodeAt(0);
const NEWLINE = "\n".charCodeAt(0);
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

/**
 * Finds the private key whose BEGIN or END line a run of characters belongs to, whole or cut off at either end. Its lines
 * may be escaped, quoted, numbered, part of a diff, or stand behind what a program prints before each line.
 */
export function matchPrivateKey(
  text: string,
  { markIndex, limitIndex }: { readonly markIndex: number; readonly limitIndex: number },
): SecretSpan | undefined {
  const begins = text.slice(markIndex, markIndex + MARK_CHARS).includes("B");
  return begins
    ? matchPrivateKeyBlock(text, markIndex)
    : matchPrivateKeyTail(text, { endLineIndex: markIndex, limitIndex });
}

/** Where the BEGIN or END line begins that a run belongs to: in "key.pem-7------BEGIN" and "\\n-----BEGIN" that is behind its start. */
export function keyMarkOf(text: string, { startIndex, endIndex }: TextSpan): number | undefined {
  const last = text.charCodeAt(endIndex - 1);
  const isSpaced = last === DASH && text.charCodeAt(endIndex) === BLANK;
  if (isSpaced && /^---- (?:BEGIN|END) /.test(text.slice(endIndex - 4, endIndex + 7))) return endIndex - 4;
  let wordChars = 0;
  if (last === LETTER_N && text.startsWith("-BEGI", endIndex - 6)) wordChars = 5;
  else if (last === LETTER_D && text.startsWith("-EN", endIndex - 4)) wordChars = 3;
  if (wordChars === 0) return text.startsWith("----", startIndex) ? startIndex : undefined;
  const wordIndex = endIndex - wordChars;
  return text.startsWith("-----", wordIndex - 5) ? wordIndex - 5 : Math.max(startIndex, wordIndex - 4);
}

const MARK_CHARS = "----- B".length;
const DASH = "-".charCodeAt(0);
const LETTER_N = "N".charCodeAt(0);
const LETTER_D = "D".charCodeAt(0);

/** Finds the private key block whose BEGIN line starts at the index. */
export function matchPrivateKeyBlock(text: string, beginIndex: number): SecretSpan | undefined {
  const bodyIndex = afterBeginLine(text, beginIndex);
  if (bodyIndex === beginIndex) return undefined;
  const lines = matchKeyLines(text, bodyIndex, MAX_HEADERS);
  return lines === undefined ? undefined : { ...lines, startIndex: beginIndex };
}

/** Finds the lines of key material that follow the index, behind headers if there may be any, with their END line if there is one. */
export function matchKeyLines(text: string, startIndex: number, maxHeaders = 0): SecretSpan | undefined {
  let endIndex = startIndex;
  let keyChars = 0;
  let headerCount = 0;
  let index = startIndex;
  for (;;) {
    const gapIndex = index;
    index = afterGap(text, gapIndex);
    const lineEnd = BASE64.endOfRun(text, index);
    const isLast = () => isLastLine(text, { startIndex: index, endIndex: lineEnd });
    if (lineEnd - index >= MIN_LINE_CHARS || (keyChars > 0 && isLast())) {
      keyChars += lineEnd - index;
      endIndex = lineEnd;
      index = lineEnd;
      continue;
    }
    if (text.startsWith("-----B", index)) break;
    const isNewLine = LINE_BREAK.test(text.slice(gapIndex, index));
    // What a program prints before each line is passed over only at the beginning of a line.
    const rest = isNewLine ? restOfLine(text, index) : "";
    const blockEnd = afterEndLine(text, index + Math.max(0, rest.indexOf("-----END ")));
    if (blockEnd > index + "-----END".length) {
      endIndex = blockEnd;
      break;
    }
    if (rest.length < (keyChars === 0 && maxHeaders === 0 ? MIN_LINE_CHARS : 1)) break;
    const mayBeHeader = keyChars === 0 && headerCount < maxHeaders;
    const isHeader = mayBeHeader && HEADER.test(rest);
    const prefixed = keyEndOf(text, { startIndex: index, endIndex: index + rest.length });
    if (isHeader || (mayBeHeader && headerCount > 0 && charsOf(prefixed) < MIN_LINE_CHARS)) {
      headerCount++;
      index += rest.length;
    } else if (isPrefixedLine(text, { ...prefixed, isFirst: keyChars === 0 })) {
      keyChars += charsOf(prefixed);
      endIndex = prefixed.endIndex;
      index = prefixed.endIndex;
    } else break;
  }
  return keyChars < MIN_KEY_CHARS ? undefined : { startIndex, endIndex, type: "private-key" };
}

function isPrefixedLine(text: string, line: TextSpan & { readonly isFirst: boolean }): boolean {
  if (charsOf(line) >= MIN_LINE_CHARS) return isKeyText(text, line);
  if (charsOf(line) === 0 || line.isFirst) return false;
  return BEFORE_END.test(text.slice(line.endIndex, line.endIndex + MAX_PREFIX_CHARS * 2));
}

/** Finds the rest of a block whose BEGIN line was cut off: from its END line backwards, over lines after the limit. */
export function matchPrivateKeyTail(
  text: string,
  { endLineIndex, limitIndex }: { readonly endLineIndex: number; readonly limitIndex: number },
): SecretSpan | undefined {
  const endIndex = afterEndLine(text, endLineIndex);
  if (!text.slice(endLineIndex, endIndex).includes("PRIVATE KEY")) return undefined;
  let startIndex = endLineIndex;
  let keyChars = 0;
  for (;;) {
    let lineEnd = startIndex;
    while (lineEnd > limitIndex && BETWEEN_LINES.has(text.charCodeAt(lineEnd - 1))) lineEnd--;
    let line = keyEndOf(text, { startIndex: limitIndex, endIndex: lineEnd });
    let isLine = charsOf(line) >= MIN_LINE_CHARS || (keyChars === 0 && charsOf(line) > 0);
    if (charsOf(line) < MIN_LINE_CHARS) {
      const before = text.slice(Math.max(limitIndex, startIndex - MAX_PREFIX_CHARS), startIndex);
      const breakChars = before.length - Math.max(before.lastIndexOf("\n"), before.lastIndexOf("\\n"));
      const prefixed = keyEndOf(text, { startIndex: limitIndex, endIndex: startIndex - breakChars });
      const isKey = breakChars <= before.length && charsOf(prefixed) >= MIN_LINE_CHARS;
      if (isKey && isKeyText(text, prefixed)) {
        line = prefixed;
        isLine = true;
      }
    }
    if (!isLine) break;
    keyChars += charsOf(line);
    startIndex = line.startIndex;
  }
  return keyChars < MIN_KEY_CHARS ? undefined : { startIndex, endIndex, type: "private-key" };
}

const BETWEEN_LINES = createAlphabet("\\s+>|\"',\\\\");
const AFTER_LINE = createAlphabet("\\s\"'`,;$|");
const MIN_KEY_CHARS = 40;
const MIN_LINE_CHARS = 24;
const MAX_HEADERS = 8;
const MAX_PREFIX_CHARS = 240;
const LINE_BREAK = /\n|\\+n/;
const BEFORE_END = /^[^\n\\]{0,20}(?:\n|\\+n)[^\n\\]{0,240}-----END /;
const HEADER = /(?:^|[^\w-]|-\d{1,6}-)(?:[A-Z][A-Za-z]+-[A-Z][A-Za-z-]+|Version|Comment|Hash|Charset): /;

const afterBeginLine = skipper(
  /-{4,5} ?BEGIN (?:(?!PRIVATE )[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}/y,
);
const afterEndLine = skipper(/-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}/y);
// What may stand between two lines of a key: breaks real or escaped, quotes and joins of a string in code,
// diff and quote marks, line numbers of a reading tool.
const afterGap = skipper(
  /(?:\\+[nrt]|\s|["'`+,<>|#*$]|\\(?=["'\s])|-(?!-)|-(?=-{5} ?END )|\d{1,6}(?:[|:→│\t]|\s{1,2}(?=[-\w+/=]{24}|-----))){1,40}/y,
);

function skipper(pattern: RegExp): (text: string, index: number) => number {
  return (text, index) => {
    pattern.lastIndex = index;
    return index + (pattern.exec(text)?.[0].length ?? 0);
  };
}

function restOfLine(text: string, index: number): string {
  return /^(?:[^\n\\]|\\+["'])*/.exec(text.slice(index, index + MAX_PREFIX_CHARS * 2))?.[0] ?? "";
}

/** The key characters that a line ends with, without the quotes and joins behind them. */
function keyEndOf(text: string, line: TextSpan): TextSpan {
  let { endIndex } = line;
  while (endIndex > line.startIndex && AFTER_LINE.has(text.charCodeAt(endIndex - 1))) endIndex--;
  let startIndex = endIndex;
  while (startIndex > line.startIndex && BASE64.has(text.charCodeAt(startIndex - 1))) startIndex--;
  return { startIndex, endIndex };
}

function charsOf(line: TextSpan): number {
  return line.endIndex - line.startIndex;
}

function isKeyText(text: string, { startIndex, endIndex }: TextSpan): boolean {
  return isGenerated(text.slice(startIndex, endIndex), 4);
}

// The last line is short, and in OpenPGP blocks a checksum of five characters follows it.
function isLastLine(text: string, { startIndex, endIndex }: TextSpan): boolean {
  if (endIndex === startIndex) return false;
  const nextIndex = afterGap(text, endIndex);
  return (
    endIndex === text.length ||
    text.charAt(startIndex) === "=" ||
    text.charAt(endIndex - 1) === "=" ||
    text.charAt(nextIndex) === "=" ||
    text.startsWith("----", nextIndex)
  );
}
