import { BASE64, endOfRun, isIn } from "./alphabet.ts";
import type { SecretSpan } from "./secret-span.ts";

/** Finds the private key block whose BEGIN line starts at the index, whole or cut, also escaped, numbered, quoted or in a diff. */
export function matchPrivateKeyBlock(text: string, beginIndex: number): SecretSpan | undefined {
  BEGIN_LINE.lastIndex = beginIndex;
  const begin = BEGIN_LINE.exec(text);
  if (begin === null) return undefined;
  const body = readBody(text, beginIndex + begin[0].length);
  return body.keyChars < MIN_KEY_CHARS
    ? undefined
    : { startIndex: beginIndex, endIndex: body.endIndex, type: "private-key" };
}

/** Finds the lines of key material that follow the index, as PuTTY and headless key files have them. */
export function matchKeyLines(text: string, startIndex: number): SecretSpan | undefined {
  const body = readBody(text, startIndex);
  return body.keyChars < MIN_KEY_CHARS
    ? undefined
    : { startIndex, endIndex: body.endIndex, type: "private-key" };
}

/** Finds the rest of a block whose BEGIN line was cut off, from its END line at the index backwards to the limit. */
export function matchPrivateKeyTail(
  text: string,
  endLineIndex: number,
  limitIndex: number,
): SecretSpan | undefined {
  END_LINE.lastIndex = endLineIndex;
  const end = END_LINE.exec(text);
  if (end === null || !end[0].includes("PRIVATE KEY")) return undefined;
  let startIndex = endLineIndex;
  let keyChars = 0;
  for (;;) {
    const gapEnd = startOfGap(text, startIndex, limitIndex);
    let lineIndex = gapEnd;
    while (lineIndex > limitIndex && isIn(BASE64, text.charCodeAt(lineIndex - 1))) lineIndex--;
    // The "n" of an escaped line break reads like key material.
    if (text.charAt(lineIndex - 1) === "\\") lineIndex++;
    if (gapEnd - lineIndex < MIN_LINE_CHARS && !(keyChars === 0 && gapEnd > lineIndex)) break;
    keyChars += gapEnd - lineIndex;
    startIndex = lineIndex;
  }
  if (keyChars < MIN_KEY_CHARS) return undefined;
  return { startIndex, endIndex: endLineIndex + end[0].length, type: "private-key" };
}

const MIN_KEY_CHARS = 40;
const MIN_LINE_CHARS = 24;
const MAX_HEADERS = 8;
const BEGIN_LINE = /-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}/y;
const END_LINE = /-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}/y;
const HEADER_LINE = /[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,100}/y;
// What may stand between two lines of a key: breaks real or escaped, quotes and joins of a string in code,
// diff and quote marks, line numbers of a reading tool.
const GAP =
  /(?:\\+[nrt]|\s|["'`+,>|#*]|\\(?=["'\s])|-(?!-)|\d{1,6}(?:[|:→│\t]|\s{1,2}(?=[-\w+/=]{24}|-----))){1,40}/y;

function readBody(
  text: string,
  startIndex: number,
): { readonly endIndex: number; readonly keyChars: number } {
  let endIndex = startIndex;
  let keyChars = 0;
  let headerCount = 0;
  let index = startIndex;
  for (;;) {
    index = endOfMatch(GAP, text, index);
    const endLine = endOfMatch(END_LINE, text, index);
    if (endLine > index) return { endIndex: endLine, keyChars };
    const mayBeHeader = keyChars === 0 && headerCount < MAX_HEADERS;
    const header = mayBeHeader ? endOfMatch(HEADER_LINE, text, index) : index;
    const lineEnd = header > index ? header : endOfRun(text, index, BASE64);
    if (lineEnd === index) return { endIndex, keyChars };
    const isHeader = header > index;
    if (!isHeader && lineEnd - index < MIN_LINE_CHARS && !isLastLine(text, index, lineEnd, keyChars)) {
      return { endIndex, keyChars };
    }
    if (isHeader) headerCount++;
    else {
      keyChars += lineEnd - index;
      endIndex = lineEnd;
    }
    index = lineEnd;
  }
}

// The last line is short, and in OpenPGP blocks a checksum of five characters follows it.
function isLastLine(text: string, index: number, lineEnd: number, keyChars: number): boolean {
  if (keyChars === 0) return false;
  const afterGap = endOfMatch(GAP, text, lineEnd);
  return (
    lineEnd === text.length ||
    text.charAt(index) === "=" ||
    text.charAt(lineEnd - 1) === "=" ||
    text.startsWith("----", afterGap) ||
    text.charAt(afterGap) === "="
  );
}

function startOfGap(text: string, endIndex: number, limitIndex: number): number {
  let index = endIndex;
  while (index > limitIndex && endIndex - index < 40) {
    const character = text.charAt(index - 1);
    if (/[\s+>|"',]/.test(character)) index--;
    else if (/[nr]/.test(character) && text.charAt(index - 2) === "\\") index -= 2;
    else break;
  }
  return index;
}

function endOfMatch(pattern: RegExp, text: string, index: number): number {
  pattern.lastIndex = index;
  const match = pattern.exec(text);
  return match === null ? index : index + match[0].length;
}
