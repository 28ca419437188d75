import { BASE64 } from "./alphabet.ts";
import type { SecretSpan, TextSpan } from "./secret-span.ts";

/** Finds the private key block whose BEGIN line starts at the index, whole or cut, also escaped, numbered, quoted or in a diff. */
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
    index = afterGap(text, index);
    const blockEnd = afterEndLine(text, index);
    if (blockEnd > index) {
      endIndex = blockEnd;
      break;
    }
    const headerEnd = keyChars === 0 && headerCount < MAX_HEADERS ? afterHeaderLine(text, index) : index;
    if (headerEnd > index) {
      headerCount++;
      index = headerEnd;
      continue;
    }
    const lineEnd = BASE64.endOfRun(text, index);
    const isLine =
      lineEnd - index >= MIN_LINE_CHARS ||
      (keyChars > 0 && isLastLine(text, { startIndex: index, endIndex: lineEnd }));
    if (!isLine) break;
    keyChars += lineEnd - index;
    endIndex = lineEnd;
    index = lineEnd;
  }
  return keyChars < MIN_KEY_CHARS ? undefined : { startIndex, endIndex, type: "private-key" };
}

/** Finds the rest of a block whose BEGIN line was cut off: from its END line backwards, over lines after the limit. */
export function matchPrivateKeyTail(
  text: string,
  { endLineIndex, limitIndex }: KeyTail,
): SecretSpan | undefined {
  const endIndex = afterEndLine(text, endLineIndex);
  if (!text.slice(endLineIndex, endIndex).includes("PRIVATE KEY")) return undefined;
  let startIndex = endLineIndex;
  let keyChars = 0;
  for (;;) {
    let lineEnd = startIndex;
    while (lineEnd > limitIndex && /[\s+>|"',\\]/.test(text.charAt(lineEnd - 1))) lineEnd--;
    let lineIndex = lineEnd;
    while (lineIndex > limitIndex && BASE64.has(text.charCodeAt(lineIndex - 1))) lineIndex--;
    const isLine = lineEnd - lineIndex >= MIN_LINE_CHARS || (keyChars === 0 && lineEnd > lineIndex);
    if (!isLine) break;
    keyChars += lineEnd - lineIndex;
    startIndex = lineIndex;
  }
  return keyChars < MIN_KEY_CHARS ? undefined : { startIndex, endIndex, type: "private-key" };
}

interface KeyTail {
  readonly endLineIndex: number;
  readonly limitIndex: number;
}

const MIN_KEY_CHARS = 40;
const MIN_LINE_CHARS = 24;
const MAX_HEADERS = 8;

const afterBeginLine = skipper(/-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}/y);
const afterEndLine = skipper(/-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}/y);
const afterHeaderLine = skipper(/[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,100}/y);
// What may stand between two lines of a key: breaks real or escaped, quotes and joins of a string in code,
// diff and quote marks, line numbers of a reading tool.
const afterGap = skipper(
  /(?:\\+[nrt]|\s|["'`+,>|#*]|\\(?=["'\s])|-(?!-)|\d{1,6}(?:[|:→│\t]|\s{1,2}(?=[-\w+/=]{24}|-----))){1,40}/y,
);

function skipper(pattern: RegExp): (text: string, index: number) => number {
  return (text, index) => {
    pattern.lastIndex = index;
    return index + (pattern.exec(text)?.[0].length ?? 0);
  };
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
