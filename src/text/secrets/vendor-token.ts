import { AI_PREFIXES } from "./ai-tokens.ts";
import { WORD } from "./alphabet.ts";
import { CLOUD_PATTERNS, CLOUD_PREFIXES } from "./cloud-tokens.ts";
import { CODE_PATTERNS, CODE_PREFIXES } from "./code-tokens.ts";
import { isPlaceholder } from "./placeholder-value.ts";
import type { SecretSpan } from "./secret-span.ts";
import { isGenerated } from "./secret-value.ts";
import { SERVICE_PATTERNS, SERVICE_PREFIXES } from "./service-tokens.ts";
import type { PatternFormat, PrefixFormat } from "./token-format.ts";

/** Finds the token of a known vendor that starts exactly at the index. */
export function matchVendorToken(text: string, index: number): SecretSpan | undefined {
  const candidates = CANDIDATES[slotOf(text.charCodeAt(index), text.charCodeAt(index + 1))];
  if (candidates === undefined) return undefined;
  for (const format of candidates.prefixes) {
    const bodyIndex = index + format[0].length;
    if (!text.startsWith(format[0], index) || isInsideEncoded(text, index, format[0])) continue;
    const bodyEnd = endOfBody(text, bodyIndex, format);
    if (bodyEnd !== undefined) return { startIndex: index, endIndex: bodyEnd, type: format[1] };
  }
  for (const { type, pattern } of candidates.patterns) {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    if (match === null || isPlaceholder(match[0].slice(0, SAMPLE_CHARS))) continue;
    return { startIndex: index, endIndex: index + match[0].length, type };
  }
  return undefined;
}
