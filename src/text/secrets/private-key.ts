import { BASE64, createAlphabet } from "./alphabet.ts";
import { isGenerated, type SecretSpan, type TextSpan } from "./secret-value.ts";

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

/**
 * The index of the BEGIN or END line that a run belongs to. It can be behind the start of the run: in
 * "key.pem-7------BEGIN" and "\n-----BEGIN".
 */
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
const LETTER_N = "N".charCodeAt(0);
const LETTER_D = "D".charCodeAt(0);

/** Finds the private key block whose BEGIN line starts at the index. */
function matchPrivateKeyBlock(text: string, beginIndex: number): SecretSpan | undefined {
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
    // A prefix such as a line number is skipped only at the beginning of a line.
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
function matchPrivateKeyTail(
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

const BLANK = " ".charCodeAt(0);
const DASH = "-".charCodeAt(0);
