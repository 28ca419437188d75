import { matchVendorToken } from "./match-token.ts";
import type { Scan, SecretSpan, TextSpan } from "./secret-value.ts";

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
    // In form encoding a plus means a blank.
    const isForm = mark[0].startsWith("%") && raw.includes("+") && !raw.includes("%20");
    for (const span of scan(decode(isForm ? raw.replaceAll("+", " ") : raw))) {
      const found = {
        startIndex: startIndex + originOf(span.startIndex),
        endIndex: startIndex + originOf(span.endIndex),
        type: span.type,
      };
      // A secret without an escape is found by the plain scan; an encoded URL may hold a public key.
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

// A cheap check first: rules out most lines of ordinary text.
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

/** Maps positions in the decoded text to positions in the original. Must be asked in increasing order. */
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
