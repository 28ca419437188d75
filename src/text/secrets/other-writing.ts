import { beginsLikeToken, matchVendorToken } from "./match-token.ts";
import { randomness, type SecretSpan, type TextSpan } from "./secret-value.ts";
import { createAlphabet } from "./token-formats.ts";

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
