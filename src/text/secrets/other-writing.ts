import { beginsLikeToken, matchVendorToken } from "./match-token.ts";
import { isGenerated, randomness, type SecretSpan, type TextSpan } from "./secret-value.ts";
import { BASE64, createAlphabet } from "./token-formats.ts";

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
    for (const span of scan(decode(raw))) {
      const found = {
        startIndex: startIndex + originOf(span.startIndex),
        endIndex: startIndex + originOf(span.endIndex),
        type: span.type,
      };
      // What holds no escape is found as it stands; an encoded address may name a key that is public.
      if (found.type === "url-token") continue;
      const around = text.slice(Math.max(startIndex, found.startIndex - NAME_CHARS), found.endIndex + 6);
      const standing = matchVendorToken(text, found.startIndex)?.endIndex ?? 0;
      if (standing < found.endIndex && around.search(ESCAPE) >= 0) spans.push(found);
    }
    ESCAPE.lastIndex = line.endIndex;
  }
  return spans;
}

const ESCAPE = /(?:%|\\{1,8}(?:u00|x)|&#x)([2-7][\da-f]);?|%0([ad])|&#(\d{2,3});|&(quot|apos|amp|lt|gt);/gi;
const NAMED: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: "&", lt: "<", gt: ">" };
// Rules out most lines of ordinary text at once.
const MAY_HOLD_SECRET = /pass|pw|secret|token|key|auth|cred|bearer|kty|thin|:\/\/|%2f%2f|%5b\d|[\w-]{16}/i;
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

/** Finds the secret that goes on behind a line break, from that break: as a terminal, a mail or a shell breaks long lines. */
export function matchWrapped(text: string, breakIndex: number, scan: Scan): SecretSpan | undefined {
  if (text.charCodeAt(breakIndex - 1) <= BLANK) return undefined;
  REST.lastIndex = breakIndex;
  const match = REST.exec(text);
  const rest = match?.[1] ?? "";
  if (match === null || !isRest(rest.slice(0, 16))) return undefined;
  if (/^[\w.-]{1,60}[=:]./.test(rest) || matchVendorToken(rest, 0) !== undefined) return undefined;
  const before = text.slice(Math.max(0, breakIndex - MAX_FIRST_CHARS), breakIndex);
  const first = before.slice(before.lastIndexOf("\n") + 1).replace(/\\$/, "");
  if (!MAY_BREAK.test(first) && !beginsLikeToken(first, startOfLastWord(first))) return undefined;
  const lineIndex = breakIndex - before.length + before.lastIndexOf("\n") + 1;
  const restIndex = breakIndex + match[0].length - rest.length;
  for (const { type, ...span } of scan(first + rest)) {
    if (span.startIndex >= first.length || span.endIndex <= first.length) continue;
    const lead = first.slice(span.startIndex);
    // An ordinary word ends its line.
    if (!/[\d_-]|[a-zA-Z][A-Z]/.test(lead) && randomness(lead) < 2) continue;
    return {
      startIndex: lineIndex + span.startIndex,
      endIndex: restIndex + span.endIndex - first.length,
      type,
    };
  }
  return undefined;
}

function isRest(text: string): boolean {
  return (
    randomness(text) >= MIN_REST_RANDOMNESS || (/\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text))
  );
}

function startOfLastWord(text: string): number {
  let index = text.length;
  while (index > 0 && !BEFORE_WORD.has(text.charCodeAt(index - 1))) index--;
  return index;
}

const MAY_BREAK = /pass|pwd|secret|token|key|auth|cred|bearer|kty|\bpw\b|:\/\/|\w:\w/i;
const BEFORE_WORD = createAlphabet("\\s\"'`=,(<>");
const BLANK = " ".charCodeAt(0);
const MAX_FIRST_CHARS = 240;
const MIN_REST_RANDOMNESS = 4;
const REST = /\n[ \t>|]{0,20}([^\s"'`<>\\,;]{5,400})/y;

/**
 * Finds the private key whose BEGIN or END line a run of characters belongs to, whole or cut off at either end. Its lines
 * may be escaped, quoted, numbered, part of a diff, or stand behind what a program prints before each line.
 */
export function matchPrivateKey(
  text: string,
  { markIndex, limitIndex }: { readonly markIndex: number; readonly limitIndex: number },
): SecretSpan | undefined {
  return (
    matchPrivateKeyBlock(text, markIndex) ??
    matchPrivateKeyTail(text, { endLineIndex: markIndex, limitIndex })
  );
}

/** Where the BEGIN or END line begins that a run belongs to: in "key.pem-7------BEGIN" and "\\n-----BEGIN" that is behind its start. */
export function keyMarkOf(text: string, { startIndex, endIndex }: TextSpan): number | undefined {
  const wordChars = text.startsWith("-BEGIN", endIndex - 6)
    ? 5
    : text.startsWith("-END", endIndex - 4)
      ? 3
      : 0;
  if (wordChars === 0) return text.startsWith("----", startIndex) ? startIndex : undefined;
  const wordIndex = endIndex - wordChars;
  return text.startsWith("-----", wordIndex - 5) ? wordIndex - 5 : Math.max(startIndex, wordIndex - 4);
}

/** Finds the private key block whose BEGIN line starts at the index. */
export function matchPrivateKeyBlock(text: string, beginIndex: number): SecretSpan | undefined {
  const bodyIndex = afterBeginLine(text, beginIndex);
  if (bodyIndex === beginIndex) return undefined;
  const lines = matchKeyLines(text, bodyIndex);
  return lines === undefined ? undefined : { ...lines, startIndex: beginIndex };
}

/** Finds the lines of key material that follow the index, with their END line if there is one. */
export function matchKeyLines(text: string, startIndex: number): SecretSpan | undefined {
  let endIndex = startIndex;
  let keyChars = 0;
  let headerCount = 0;
  let index = startIndex;
  for (;;) {
    const gapEnd = afterGap(text, index);
    const isNewLine = LINE_BREAK.test(text.slice(index, gapEnd));
    index = gapEnd;
    const line = { startIndex: index, endIndex: BASE64.endOfRun(text, index) };
    if (charsOf(line) >= MIN_LINE_CHARS || (keyChars > 0 && isLastLine(text, line))) {
      keyChars += charsOf(line);
      endIndex = line.endIndex;
      index = line.endIndex;
      continue;
    }
    if (text.startsWith("-----B", index)) break;
    // What a program prints before each line is passed over only at the beginning of a line.
    const rest = isNewLine ? restOfLine(text, index) : "";
    const blockEnd = afterEndLine(text, index + Math.max(0, rest.indexOf("-----END ")));
    if (blockEnd > index + "-----END".length) {
      endIndex = blockEnd;
      break;
    }
    if (rest === "") break;
    const isHeader = keyChars === 0 && (headerCount > 0 || HEADER.test(rest));
    const prefixed = keyEndOf(text, { startIndex: index, endIndex: index + rest.length });
    if (
      isHeader &&
      headerCount < MAX_HEADERS &&
      !(charsOf(prefixed) >= MIN_LINE_CHARS && !HEADER.test(rest))
    ) {
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
  const after = text.slice(line.endIndex, line.endIndex + MAX_PREFIX_CHARS * 2);
  return charsOf(line) > 0 && !line.isFirst && BEFORE_END.test(after);
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
const HEADER = /(?:^|[^\w-])(?:[A-Z][A-Za-z]+-[A-Z][A-Za-z-]+|Version|Comment|Hash|Charset): /;

const afterBeginLine = skipper(/-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}/y);
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
  return /^[^\n\\]*/.exec(text.slice(index, index + MAX_PREFIX_CHARS * 2))?.[0] ?? "";
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
