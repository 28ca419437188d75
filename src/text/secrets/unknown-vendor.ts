import { ALPHANUMERIC, DOTTED } from "./alphabet.ts";
import { isPlaceholder } from "./placeholder-value.ts";
import type { SecretSpan, TextSpan } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";

/**
 * Finds the token of a vendor nobody listed: vendors name tokens alike, by a few short words of which one tells
 * ("acme_live_", "x-pat-"), followed by the generated part.
 */
export function matchUnknownVendor(text: string, run: TextSpan): SecretSpan | undefined {
  if (run.endIndex - run.startIndex < MIN_BODY_CHARS + 3) return undefined;
  let wordIndex = run.startIndex;
  let isTold = false;
  let isHinted = false;
  for (let count = 0; count <= MAX_LEAD_WORDS; count++) {
    const wordEnd = ALPHANUMERIC.endOfRun(text, wordIndex);
    const word = text.slice(wordIndex, wordEnd);
    if (word.length >= MIN_BODY_CHARS) {
      const isToken = isTold || (isHinted && !/^[\da-f]+$/i.test(word));
      const endIndex = isToken && isTokenBody(word) ? endOfToken(text, wordEnd) : undefined;
      return endIndex === undefined ? undefined : { startIndex: run.startIndex, endIndex, type: "token" };
    }
    if (wordEnd >= run.endIndex || word.length > MAX_WORD_CHARS || word === "" || PUBLIC_WORD.test(word)) {
      return undefined;
    }
    isTold ||= TELLING_WORD.test(word);
    isHinted ||= HINTING_WORD.test(word);
    wordIndex = wordEnd + 1;
  }
  return undefined;
}

const MIN_BODY_CHARS = 20;
const MIN_BODY_RANDOMNESS = 8;
const MIN_LETTERS_RANDOMNESS = 20;
const MAX_LEAD_WORDS = 5;
const MAX_WORD_CHARS = 12;
const PUBLIC_WORD =
  /^(?:pk|pub|public|publishable|ids?|hash|sha\d*|md5|checksum|digest|integrity|chunk|index|anon)$/i;
const TELLING_WORD =
  /^(?:sk|rk|sak|key|apikey|secret|sec|token|tok|tkn|pat|priv|private|pwd|password|pass|cred|creds|bearer|oauth|whsec|jwt)$/i;
const HINTING_WORD = /^(?:api|live|prod|auth|access|refresh|bot|svc|svcacct|admin|webhook|personal)$/i;

function isTokenBody(body: string): boolean {
  const minRandomness = /\d/.test(body) ? MIN_BODY_RANDOMNESS : MIN_LETTERS_RANDOMNESS;
  return !isPlaceholder(body) && isGenerated(body.slice(0, 64), minRandomness);
}

function endOfToken(text: string, bodyEnd: number): number | undefined {
  // A file extension makes it the name of a built file.
  if (/^\.[a-z]{2,5}\b/i.test(text.slice(bodyEnd, bodyEnd + 8))) return undefined;
  return text.charAt(bodyEnd) === "." ? bodyEnd : DOTTED.endOfRun(text, bodyEnd);
}
