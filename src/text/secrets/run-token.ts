import { ALPHANUMERIC, DOTTED, endOfRun, isIn } from "./alphabet.ts";
import { isPlaceholder } from "./placeholder-value.ts";
import { randomness } from "./randomness.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";
import { matchVendorToken } from "./vendor-token.ts";

/** No known token is shorter than this with its prefix, so shorter runs need no look. */
export const MIN_TOKEN_CHARS = 16;

/** Finds the first token in a run of `DOTTED` characters: of a known vendor, of a telling shape, or by a telling prefix. */
export function matchRunToken(text: string, startIndex: number, endIndex: number): SecretSpan | undefined {
  const runIndex = skipEscape(text, startIndex);
  return (
    matchVendorToken(text, startIndex) ??
    matchInside(text, runIndex, endIndex) ??
    matchShape(text, runIndex, endIndex) ??
    matchTellingPrefix(text, runIndex, endIndex)
  );
}

/** Gives the span of a value known to be secret, under the vendor's name and to its token's end when a vendor's token it is. */
export function namedSpan(
  text: string,
  value: { readonly startIndex: number; readonly endIndex: number },
  type: string,
): SecretSpan {
  const { startIndex, endIndex } = value;
  const vendor = matchVendorToken(text, startIndex) ?? matchShape(text, startIndex, endIndex);
  if (vendor === undefined) return { startIndex, endIndex, type };
  return { startIndex, endIndex: Math.max(endIndex, vendor.endIndex), type: vendor.type };
}

// In "\nghp_…" and "%3Aghp_…" the run begins with the rest of an escape.
function skipEscape(text: string, startIndex: number): number {
  const before = text.charAt(startIndex - 1);
  if (before === "%" && /^[\da-f]{2}/i.test(text.slice(startIndex, startIndex + 2))) return startIndex + 2;
  if (before !== "\\") return startIndex;
  const rest = /^(?:u[\da-f]{4}|x[\da-f]{2}|[nrtbfv0])/i.exec(text.slice(startIndex, startIndex + 5));
  return startIndex + (rest?.[0].length ?? 0);
}

const MAX_LEAD_CHARS = 48;

function matchInside(text: string, runIndex: number, endIndex: number): SecretSpan | undefined {
  const lastIndex = Math.min(endIndex - MIN_TOKEN_CHARS, runIndex + MAX_LEAD_CHARS);
  for (let index = runIndex; index <= lastIndex; index++) {
    if (index > runIndex && isIn(ALPHANUMERIC, text.charCodeAt(index - 1))) continue;
    const span = matchVendorToken(text, index);
    if (span === undefined) continue;
    // After generated text a prefix is chance: this is the inside of one long encoded value.
    if (index === runIndex || randomness(text.slice(runIndex, index)) < 4) return span;
  }
  return undefined;
}

const SHAPES: readonly { readonly type: string; readonly minChars: number; readonly pattern: RegExp }[] = [
  { type: "mailchimp-key", minChars: 36, pattern: /[a-f0-9]{32}-us\d{1,2}(?![\w-])/y },
  { type: "clickhouse-key", minChars: 42, pattern: /4b1d(?=[A-Z0-9a-f]*[g-z])[A-Za-z0-9]{38}(?![\w.-])/y },
  { type: "zhipu-key", minChars: 49, pattern: /[a-f0-9]{32}\.[A-Za-z0-9]{16}(?![\w.-])/y },
  { type: "maxmind-key", minChars: 36, pattern: /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?!\w)/y },
  { type: "ngrok-token", minChars: 49, pattern: /[12][A-Za-z0-9]{26}_[A-Za-z0-9]{21}(?![\w.-])/y },
  { type: "mailgun-key", minChars: 50, pattern: /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])/y },
  { type: "discord-token", minChars: 55, pattern: /[MNO][\w-]{22,27}\.[\w-]{6,7}\.[\w-]{27,}/y },
  { type: "terraform-token", minChars: 30, pattern: /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}/y },
  { type: "azure-key", minChars: 80, pattern: /[A-Za-z0-9]{40,64}JQQJ99[A-Za-z0-9]{20,}/y },
];

function matchShape(text: string, runIndex: number, endIndex: number): SecretSpan | undefined {
  const runChars = endIndex - runIndex;
  if (runChars < 30) return undefined;
  if (runChars >= 36 && text.charAt(runIndex) === "0" && text.startsWith("1//", runIndex - 3)) {
    return { startIndex: runIndex - 3, endIndex, type: "google-refresh-token" };
  }
  for (const { type, minChars, pattern } of SHAPES) {
    if (runChars < minChars) continue;
    pattern.lastIndex = runIndex;
    const match = pattern.exec(text);
    if (match !== null) return { startIndex: runIndex, endIndex: runIndex + match[0].length, type };
  }
  return undefined;
}

const MIN_UNKNOWN_BODY_CHARS = 20;
const MAX_LEAD_WORDS = 5;

// Vendors we do not know name their tokens alike: short words, one of them telling, then the generated part.
function matchTellingPrefix(text: string, runIndex: number, endIndex: number): SecretSpan | undefined {
  if (endIndex - runIndex < MIN_UNKNOWN_BODY_CHARS + 3) return undefined;
  let wordIndex = runIndex;
  let isTold = false;
  let isWeaklyTold = false;
  for (let count = 0; count <= MAX_LEAD_WORDS; count++) {
    const wordEnd = endOfRun(text, wordIndex, ALPHANUMERIC);
    if (wordEnd - wordIndex >= MIN_UNKNOWN_BODY_CHARS) {
      if (!isTold && !isWeaklyTold) return undefined;
      const bodyEnd = endOfToken(text, wordEnd, endIndex);
      if (bodyEnd === undefined) return undefined;
      const body = text.slice(wordIndex, wordEnd);
      if (!isTold && /^[\da-f]+$/i.test(body)) return undefined;
      if (!/\d/.test(body) || isPlaceholder(body) || !isGenerated(body, 8)) return undefined;
      return { startIndex: runIndex, endIndex: bodyEnd, type: "token" };
    }
    if (wordEnd >= endIndex || wordEnd - wordIndex > 12 || wordEnd === wordIndex) return undefined;
    const word = text.slice(wordIndex, wordEnd);
    if (PUBLIC_WORD.test(word)) return undefined;
    if (TELLING_WORD.test(word)) isTold = true;
    else if (HINTING_WORD.test(word)) isWeaklyTold = true;
    wordIndex = wordEnd + 1;
  }
  return undefined;
}

function endOfToken(text: string, bodyIndex: number, endIndex: number): number | undefined {
  // A file extension makes it the name of a built file.
  if (/^\.[a-z]{2,5}\b/i.test(text.slice(bodyIndex, Math.min(endIndex, bodyIndex + 8)))) return undefined;
  return text.charAt(bodyIndex) === "." ? bodyIndex : endOfRun(text, bodyIndex, DOTTED);
}

const PUBLIC_WORD =
  /^(?:pk|pub|public|publishable|ids?|hash|sha\d*|md5|checksum|digest|integrity|chunk|index|anon)$/i;
const TELLING_WORD =
  /^(?:sk|rk|sak|key|apikey|secret|sec|token|tok|tkn|pat|priv|private|pwd|password|pass|cred|creds|bearer|oauth|whsec|jwt)$/i;
const HINTING_WORD =
  /^(?:api|live|prod|auth|access|refresh|bot|svc|svcacct|admin|webhook|session|personal|service|app|acct|test)$/i;
