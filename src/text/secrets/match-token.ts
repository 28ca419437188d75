import { ALPHANUMERIC, type Alphabet, DOTTED, HEADER_TOKEN } from "./alphabet.ts";
import { isGenerated, isPlaceholder, randomness, type SecretSpan, type TextSpan } from "./secret-value.ts";
import {
  MARKED_FORMATS,
  PATTERN_FORMATS,
  type PatternFormat,
  PREFIX_FORMATS,
  SHAPE_FORMATS,
} from "./token-formats.ts";

/** No known token is shorter than this with its prefix. */
export const MIN_TOKEN_CHARS = 16;

/** Finds the first token in a run of `DOTTED` characters: of a known vendor, of a known shape, or with a prefix like "acme_live_". */
export function matchRunToken(text: string, run: TextSpan): SecretSpan | undefined {
  const token = matchStart(text, run);
  if (token !== undefined) return token;
  const rest = { startIndex: skipLead(text, run), endIndex: run.endIndex };
  return matchInside(text, rest) ?? matchTokenShape(text, rest) ?? matchUnknownVendor(text, rest);
}

/** Finds the token of a known vendor at the start of a run, or behind the rest of an escape. */
export function matchStart(text: string, run: TextSpan): SecretSpan | undefined {
  return matchVendorToken(text, run.startIndex) ?? matchVendorToken(text, skipLead(text, run));
}

/** Names the vendor of a secret, and takes the end of its token, when it begins like a token of a known vendor. */
export function withVendor(text: string, secret: SecretSpan): SecretSpan {
  const vendor = matchVendorToken(text, secret.startIndex) ?? matchTokenShape(text, secret);
  if (vendor === undefined) return secret;
  return { ...secret, endIndex: Math.max(secret.endIndex, vendor.endIndex), type: vendor.type };
}

// In "\nghp_…" and "%3Aghp_…" the run begins with the rest of an escape, in a diff with its mark, in what a search prints
// with "file-12-".
function skipLead(text: string, { startIndex, endIndex }: TextSpan): number {
  const before = text.charAt(startIndex - 1);
  if (before !== "%" && before !== "\\") {
    if (endIndex - startIndex < SHORTEST_SHAPE_CHARS) return startIndex;
    const head = text.slice(startIndex, startIndex + MAX_LEAD_CHARS);
    return startIndex + (head.includes("-") ? (LEAD.exec(head)?.[0].length ?? 0) : 0);
  }
  const escaped = before === "%" ? /^[\da-f]{2}/i : /^(?:u[\da-f]{4}|x[\da-f]{2}|[nrtbfv0])/i;
  return startIndex + (escaped.exec(text.slice(startIndex, startIndex + 5))?.[0].length ?? 0);
}

const LEAD = /^(?:[\w.]*-\d{1,6})?-/;
const MAX_LEAD_CHARS = 48;
const MAX_LEAD_RANDOMNESS = 4;

function matchInside(text: string, run: TextSpan): SecretSpan | undefined {
  const lastIndex = Math.min(run.endIndex - MIN_TOKEN_CHARS, run.startIndex + MAX_LEAD_CHARS);
  for (let index = run.startIndex + 1; index <= lastIndex; index++) {
    if (ALPHANUMERIC.has(text.charCodeAt(index - 1))) continue;
    const span = matchVendorToken(text, index);
    if (span === undefined) continue;
    // A prefix inside one long encoded value is there by chance.
    if (randomness(text.slice(run.startIndex, index)) < MAX_LEAD_RANDOMNESS) return span;
  }
  return undefined;
}

/** Finds the token of a known vendor that starts exactly at the index. */
export function matchVendorToken(text: string, index: number): SecretSpan | undefined {
  const candidates = CANDIDATES[slotOf(text.charCodeAt(index), text.charCodeAt(index + 1))];
  if (candidates === undefined) return undefined;
  for (const format of candidates.prefixes) {
    const span = text.startsWith(format.prefix, index) ? matchBody(text, { ...format, index }) : undefined;
    if (span !== undefined) return span;
  }
  for (const [type, , pattern] of candidates.patterns) {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    if (match === null || isPlaceholder(match[0].slice(0, SAMPLE_CHARS))) continue;
    return { startIndex: index, endIndex: index + match[0].length, type };
  }
  return undefined;
}

/** True where a token of a known vendor may begin, however short it is. */
export function beginsLikeToken(text: string, index: number): boolean {
  const candidates = CANDIDATES[slotOf(text.charCodeAt(index), text.charCodeAt(index + 1))];
  if (candidates === undefined) return false;
  return (
    candidates.patterns.length > 0 || candidates.prefixes.some(({ prefix }) => text.startsWith(prefix, index))
  );
}

interface PrefixedToken {
  readonly prefix: string;
  readonly type: string;
  readonly minBodyChars: number;
  readonly body: Alphabet;
}

const SAMPLE_CHARS = 64;
const MIN_BODY_RANDOMNESS = 2;
const LETTER_Z = "z".charCodeAt(0);

function matchBody(
  text: string,
  { index, prefix, type, minBodyChars, body }: PrefixedToken & { readonly index: number },
): SecretSpan | undefined {
  // A prefix of letters only is not distinguishable from encoded data.
  if (!/[-_.]/.test(prefix) && /[^\n+][+]{1,2}$|\/$/.test(text.slice(Math.max(0, index - 3), index)))
    return undefined;
  // Check the start of the body first, so that a rejected candidate costs little.
  const bodyIndex = index + prefix.length;
  const ahead = text.slice(bodyIndex, bodyIndex + Math.max(minBodyChars, SAMPLE_CHARS));
  const sampleChars = body.endOfRun(ahead, 0);
  if (sampleChars < minBodyChars) return undefined;
  const sample = ahead.slice(0, Math.min(sampleChars, SAMPLE_CHARS));
  // For bodies of capitals or hex digits the randomness check is unreliable; there the prefix is enough.
  const needsNoCheck = !body.has(LETTER_Z) || (prefix.length >= 5 && /(?:\d[^\d]?){8}/.test(sample));
  const minRandomness = prefix.length >= 5 ? -MIN_BODY_RANDOMNESS : MIN_BODY_RANDOMNESS;
  if ((!needsNoCheck && !isGenerated(sample, minRandomness)) || isPlaceholder(sample)) return undefined;
  return { startIndex: index, endIndex: body.endOfRun(text, bodyIndex + sampleChars), type };
}

interface Candidates {
  readonly prefixes: PrefixedToken[];
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
  for (const [body, minBodyChars, types] of PREFIX_FORMATS) {
    for (const entry of types.split(",")) {
      const [type = "", ...prefixes] = entry.split(" ");
      for (const prefix of prefixes) at(prefix).prefixes.push({ prefix, type, minBodyChars, body });
    }
  }
  for (const format of PATTERN_FORMATS) {
    for (const start of format[1].split(" ")) at(start).patterns.push(format);
  }
  // The longest prefix names the vendor best: "sk-ant-" before "sk-".
  for (const candidates of slots) {
    candidates?.prefixes.sort((first, second) => second.prefix.length - first.prefix.length);
  }
  return slots;
}

function slotOf(firstCode: number, secondCode: number): number {
  return firstCode < 128 && secondCode < 128 ? firstCode * 128 + secondCode : -1;
}

/** Finds a token without a prefix that has a shape of its own, at the start of a run. */
function matchTokenShape(text: string, run: TextSpan): SecretSpan | undefined {
  const runChars = run.endIndex - run.startIndex;
  if (runChars < SHORTEST_SHAPE_CHARS) return undefined;
  for (const [type, minChars, pattern] of SHAPE_FORMATS) {
    if (runChars < minChars) continue;
    pattern.lastIndex = run.startIndex;
    const match = pattern.exec(text);
    if (match === null) continue;
    const leadChars = type === "google-refresh-token" ? "1//".length : 0;
    return { startIndex: run.startIndex - leadChars, endIndex: run.startIndex + match[0].length, type };
  }
  return undefined;
}

const SHORTEST_SHAPE_CHARS = 30;

/** Finds the token of a vendor that is not listed: a few short words, one of which says so ("acme_live_", "x-pat-"), then generated text. */
function matchUnknownVendor(text: string, run: TextSpan): SecretSpan | undefined {
  if (run.endIndex - run.startIndex < MIN_BODY_CHARS + 3) return undefined;
  let wordIndex = run.startIndex;
  let isSecret = false;
  let isLikely = false;
  for (let count = 0; count <= MAX_LEAD_WORDS; count++) {
    const wordEnd = ALPHANUMERIC.endOfRun(text, wordIndex);
    const word = text.slice(wordIndex, wordEnd);
    if (word.length >= MIN_BODY_CHARS) {
      const isToken = isSecret || (isLikely && !/^[\da-f]+$/i.test(word));
      const endIndex = isToken && isTokenBody(word) ? endOfToken(text, wordEnd) : undefined;
      return endIndex === undefined ? undefined : { startIndex: run.startIndex, endIndex, type: "token" };
    }
    if (wordEnd >= run.endIndex || word.length > MAX_WORD_CHARS || word === "" || PUBLIC_WORD.test(word)) {
      return undefined;
    }
    isSecret ||= SECRET_WORD.test(word);
    isLikely ||= LIKELY_WORD.test(word);
    wordIndex = wordEnd + 1;
  }
  return undefined;
}

const MIN_BODY_CHARS = 20;
const MIN_UNKNOWN_RANDOMNESS = 8;
const MIN_LETTERS_RANDOMNESS = 20;
const MAX_LEAD_WORDS = 5;
const MAX_WORD_CHARS = 12;
const PUBLIC_WORD =
  /^(?:pk|pub|public|publishable|ids?|hash|sha\d*|md5|checksum|digest|integrity|chunk|index|anon)$/i;
const SECRET_WORD =
  /^(?:sk|rk|sak|key|apikey|secret|sec|token|tok|tkn|pat|priv|private|pwd|password|pass|cred|creds|bearer|oauth|whsec|jwt)$/i;
const LIKELY_WORD = /^(?:api|live|prod|auth|access|refresh|bot|svc|svcacct|admin|webhook|personal)$/i;

function isTokenBody(body: string): boolean {
  const minRandomness = /\d/.test(body) ? MIN_UNKNOWN_RANDOMNESS : MIN_LETTERS_RANDOMNESS;
  return !isPlaceholder(body) && isGenerated(body.slice(0, 64), minRandomness);
}

function endOfToken(text: string, bodyEnd: number): number | undefined {
  // With a file extension it is the name of a built file.
  if (/^\.[a-z]{2,5}\b/i.test(text.slice(bodyEnd, bodyEnd + 8))) return undefined;
  return text.charAt(bodyEnd) === "." ? bodyEnd : DOTTED.endOfRun(text, bodyEnd);
}

/** Finds a token with a colon, bar, tilde or dollar sign inside, from that character. */
export function matchMarkedToken(text: string, markIndex: number): SecretSpan | undefined {
  if (!HEADER_TOKEN.has(text.charCodeAt(markIndex + 1))) return undefined;
  const tail = text.slice(markIndex + 1, markIndex + 1 + MIN_TAIL_CHARS);
  if (HEADER_TOKEN.endOfRun(tail, 0) < MIN_TAIL_CHARS) return undefined;
  const before = text.slice(Math.max(0, markIndex - MAX_HEAD_CHARS), markIndex);
  for (const [type, mark, headPattern, tailPattern] of MARKED_FORMATS) {
    if (text.charAt(markIndex) !== mark) continue;
    const head = headPattern.exec(before);
    if (head === null) continue;
    tailPattern.lastIndex = markIndex + 1;
    const match = tailPattern.exec(text);
    if (match === null) continue;
    return { startIndex: markIndex - head[0].length, endIndex: markIndex + 1 + match[0].length, type };
  }
  return undefined;
}

const MIN_TAIL_CHARS = 20;
const MAX_HEAD_CHARS = 48;
