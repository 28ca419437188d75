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
    if (!text.startsWith(format[0], index)) continue;
    const span = matchBody({ text, index, format });
    if (span !== undefined) return span;
  }
  for (const { type, pattern } of candidates.patterns) {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    if (match === null || isPlaceholder(match[0].slice(0, SAMPLE_CHARS))) continue;
    return { startIndex: index, endIndex: index + match[0].length, type };
  }
  return undefined;
}

interface PrefixAt {
  readonly text: string;
  readonly index: number;
  readonly format: PrefixFormat;
}

const SAMPLE_CHARS = 64;
const MIN_BODY_RANDOMNESS = 2;
const LETTER_Z = "z".charCodeAt(0);

function matchBody({ text, index, format }: PrefixAt): SecretSpan | undefined {
  const [prefix, type, minBodyChars, body = WORD] = format;
  // Letters alone do not set a prefix apart from the middle of encoded data.
  if (!/[-_.]/.test(prefix) && index > 0 && "+/".includes(text.charAt(index - 1))) return undefined;
  // Only a body that passes is read to its end, so that what is rejected costs a bounded look.
  const bodyIndex = index + prefix.length;
  const ahead = text.slice(bodyIndex, bodyIndex + Math.max(minBodyChars, SAMPLE_CHARS));
  const sampleChars = body.endOfRun(ahead, 0);
  if (sampleChars < minBodyChars) return undefined;
  const sample = ahead.slice(0, Math.min(sampleChars, SAMPLE_CHARS));
  // Capitals and hex digits can read like words or numbers by chance; the prefix tells enough there.
  const isTold = !body.has(LETTER_Z) || (prefix.length >= 5 && /(?:\d[^\d]?){8}/.test(sample));
  if ((!isTold && !isGenerated(sample, MIN_BODY_RANDOMNESS)) || isPlaceholder(sample)) return undefined;
  return { startIndex: index, endIndex: body.endOfRun(text, bodyIndex + sampleChars), type };
}

interface Candidates {
  readonly prefixes: PrefixFormat[];
  readonly patterns: PatternFormat[];
}

const CANDIDATES: readonly (Candidates | undefined)[] = collectCandidates();

function collectCandidates(): readonly (Candidates | undefined)[] {
  const slots: (Candidates | undefined)[] = new Array(128 * 128).fill(undefined);
  const at = (start: string): Candidates => {
    const slot = slotOf(start.charCodeAt(0), start.charCodeAt(1));
    const candidates = slots[slot] ?? { prefixes: [], patterns: [] };
    slots[slot] = candidates;
    return candidates;
  };
  for (const format of [...CLOUD_PREFIXES, ...CODE_PREFIXES, ...AI_PREFIXES, ...SERVICE_PREFIXES]) {
    at(format[0]).prefixes.push(format);
  }
  for (const format of [...CLOUD_PATTERNS, ...CODE_PATTERNS, ...SERVICE_PATTERNS]) {
    for (const start of format.starts) at(start).patterns.push(format);
  }
  // The longest prefix names the vendor best: "sk-ant-" before "sk-".
  for (const candidates of slots) {
    candidates?.prefixes.sort((first, second) => second[0].length - first[0].length);
  }
  return slots;
}

function slotOf(firstCode: number, secondCode: number): number {
  return firstCode < 128 && secondCode < 128 ? firstCode * 128 + secondCode : -1;
}
