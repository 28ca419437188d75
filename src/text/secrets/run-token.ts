import { ALPHANUMERIC } from "./alphabet.ts";
import { randomness } from "./randomness.ts";
import type { SecretSpan, TextSpan } from "./secret-span.ts";
import { matchShape } from "./token-shape.ts";
import { matchUnknownVendor } from "./unknown-vendor.ts";
import { matchVendorToken } from "./vendor-token.ts";

/** No known token is shorter than this with its prefix, so shorter runs need no look. */
export const MIN_TOKEN_CHARS = 16;

/** Finds the first token in a run of `DOTTED` characters: of a known vendor, of a telling shape, or by a telling prefix. */
export function matchRunToken(text: string, run: TextSpan): SecretSpan | undefined {
  const startIndex = skipEscape(text, run.startIndex);
  const rest = startIndex === run.startIndex ? run : { startIndex, endIndex: run.endIndex };
  return (
    matchVendorToken(text, run.startIndex) ??
    (rest === run ? undefined : matchVendorToken(text, startIndex)) ??
    matchInside(text, rest) ??
    matchShape(text, rest) ??
    matchUnknownVendor(text, rest)
  );
}

/** Gives a secret its vendor's name, and its token's end, when it begins like the token of a known vendor. */
export function withVendor(text: string, secret: SecretSpan): SecretSpan {
  const vendor = matchVendorToken(text, secret.startIndex) ?? matchShape(text, secret);
  if (vendor === undefined) return secret;
  return { ...secret, endIndex: Math.max(secret.endIndex, vendor.endIndex), type: vendor.type };
}

// In "\nghp_…" and "%3Aghp_…" the run begins with the rest of an escape.
function skipEscape(text: string, startIndex: number): number {
  const before = text.charAt(startIndex - 1);
  if (before !== "%" && before !== "\\") return startIndex;
  const escaped = before === "%" ? /^[\da-f]{2}/i : /^(?:u[\da-f]{4}|x[\da-f]{2}|[nrtbfv0])/i;
  return startIndex + (escaped.exec(text.slice(startIndex, startIndex + 5))?.[0].length ?? 0);
}

const MAX_LEAD_CHARS = 48;
const MAX_LEAD_RANDOMNESS = 4;

function matchInside(text: string, run: TextSpan): SecretSpan | undefined {
  const lastIndex = Math.min(run.endIndex - MIN_TOKEN_CHARS, run.startIndex + MAX_LEAD_CHARS);
  for (let index = run.startIndex + 1; index <= lastIndex; index++) {
    if (ALPHANUMERIC.has(text.charCodeAt(index - 1))) continue;
    const span = matchVendorToken(text, index);
    if (span === undefined) continue;
    // After generated text a prefix is chance: this is the inside of one long encoded value.
    if (randomness(text.slice(run.startIndex, index)) < MAX_LEAD_RANDOMNESS) return span;
  }
  return undefined;
}
