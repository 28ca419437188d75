import { STOP_TERMS, termsOf } from "./terms.ts";
import type { IndexEntry, TextIndex } from "./text-index.ts";
import { eachWord, isWithinWord } from "./words.ts";

/** A text that matches the query, and its lines to show. */
export interface FoundText {
  readonly handle: string;
  readonly rank: number;
  /**
   * `literal`: the query stands there word for word. `within`: word for word, inside longer words. `words`: only its
   * words were found.
   */
  readonly match: "literal" | "within" | "words";
  readonly score: number;
  /** The best first. */
  readonly lines: readonly FoundLine[];
  readonly text: string;
}

/** A line with words of the query. */
export interface FoundLine {
  /** Counted from 1. */
  readonly number: number;
  readonly start: number;
  readonly end: number;
  /** Index of the rarest matching word in the line. */
  readonly hitAt: number;
  readonly score: number;
}

interface LookRequest {
  readonly entry: IndexEntry;
  readonly passages: readonly number[];
  /** The text as it may be shown, which may differ from what the index has read. */
  readonly text: string;
  readonly index: TextIndex;
  readonly query: Query;
}

/**
 * Reads the candidate passages of a text and scores the text by the best one. Undefined when nothing that may be
 * shown matches.
 */
export function lookInto({ entry, passages, text, index, query }: LookRequest): FoundText | undefined {
  let best: ReadPassage | undefined;
  const lines = new Map<number, FoundLine>();
  for (const passage of passages) {
    const read = readPassage(text, spanIn(text, { entry, passage, index }), { index, query });
    if (read === undefined) continue;
    for (const line of read.lines) lines.set(line.number, line);
    if (best === undefined || isBetter(read, best)) best = read;
  }
  if (best === undefined) return undefined;
  return {
    handle: entry.handle,
    rank: entry.rank,
    match: best.match,
    score: best.score,
    text,
    lines: [...lines.values()].sort((one, other) => other.score - one.score || one.number - other.number),
  };
}

interface ReadPassage {
  readonly match: FoundText["match"];
  readonly score: number;
  readonly lines: readonly FoundLine[];
}

function isBetter(one: ReadPassage, other: ReadPassage): boolean {
  if (one.match === other.match) return one.score > other.score;
  return one.match === "literal" || other.match === "words";
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Maps a passage to the redacted text, where its position may have moved. */
function spanIn(
  text: string,
  { entry, passage, index: { passages } }: { entry: IndexEntry; passage: number; index: TextIndex },
): Span {
  const moved = text === entry.text ? 0 : Math.abs(text.length - entry.text.length) + MOVED_CHARS;
  return {
    start: Math.max(0, Math.min(passages.startOf(passage), text.length) - moved),
    end: Math.min(text.length, passages.endOf(passage) + moved),
  };
}

/** How far redaction may move a passage: a placeholder has another length than the secret. */
const MOVED_CHARS = 5_000;

/** The lines of a passage with words of the query, and the score of the passage. */
function readPassage(
  text: string,
  span: Span,
  { index, query }: Pick<LookRequest, "index" | "query">,
): ReadPassage | undefined {
  const { terms, literals } = query;
  const counts = new Int32Array(terms.length);
  const rows = rowsIn(text, span, { query, counts });
  const phrase = findPhrase(text, span, query);
  const hits = rows.filter(
    ({ mask, start, end }) => mask !== 0 || (phrase && phrase.at >= start && phrase.at <= end),
  );
  if (hits.length === 0) return undefined;

  const length = (span.end - span.start) / MEAN_WORD_CHARS / Math.max(1, index.passages.meanWords);
  let score = 0;
  for (const [number, { weight }] of terms.entries()) {
    const count = counts[number] as number;
    if (count > 0) score += weight * saturate(count, Math.min(length, 2));
  }
  const shown = text.slice(span.start, span.end);
  for (const { pattern, weight } of literals) {
    pattern.lastIndex = 0;
    if (pattern.test(shown)) score += weight;
  }
  let closest = 0;
  const lines = hits.map(({ number, start, end, hitAt, mask }) => {
    let near = 0;
    for (const other of rows) if (Math.abs(other.number - number) <= NEAR_LINES) near |= other.mask;
    const isPhrase = phrase !== undefined && phrase.at >= start && phrase.at <= end;
    const own = weightOf(mask, terms) + NEAR_SHARE * weightOf(near & ~mask, terms);
    closest = Math.max(closest, own);
    return {
      number,
      start,
      end,
      hitAt: isPhrase ? phrase.at : hitAt,
      score: own + (isPhrase ? query.weight + 1 : 0),
    };
  });
  return { match: phrase?.match ?? "words", score: score + LINE_SHARE * closest, lines };
}

/** Average length of a word with its space. */
const MEAN_WORD_CHARS = 7;
const NEAR_LINES = 2;
const NEAR_SHARE = 0.5;
const LINE_SHARE = 2;

interface Row {
  readonly number: number;
  readonly start: number;
  readonly end: number;
  hitAt: number;
  mask: number;
}

/** The lines of a span, with the terms that each has. */
function rowsIn(
  text: string,
  span: Span,
  { query, counts }: { query: Query; counts: Int32Array },
): readonly Row[] {
  const rows: Row[] = [];
  let start = text.lastIndexOf("\n", span.start - 1) + 1;
  if (span.start === 0) start = 0;
  for (let number = lineNumberAt(text, start); start <= span.end && start <= text.length; number++) {
    const found = text.indexOf("\n", start);
    const end = found === -1 ? text.length : found;
    const row: Row = { number, start, end, hitAt: start, mask: 0 };
    let heaviest = 0;
    const words = { start: Math.max(start, span.start), end: Math.min(end, span.end) };
    eachWord(
      text,
      (from, to) => {
        const mask = query.maskOf(text.slice(from, to));
        if (mask === 0) return;
        row.mask |= mask;
        for (const [bit] of query.terms.entries())
          if ((mask & (1 << bit)) !== 0) counts[bit] = (counts[bit] as number) + 1;
        const weight = weightOf(mask, query.terms);
        if (weight <= heaviest) return;
        heaviest = weight;
        row.hitAt = from;
      },
      words,
    );
    rows.push(row);
    start = end + 1;
  }
  return rows;
}

function lineNumberAt(text: string, at: number): number {
  let number = 1;
  for (let place = text.indexOf("\n"); place !== -1 && place < at; place = text.indexOf("\n", place + 1))
    number++;
  return number;
}

function weightOf(mask: number, terms: readonly QueryTerm[]): number {
  let weight = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1)
    weight += terms[31 - Math.clz32(rest & -rest)]?.weight ?? 0;
  return weight;
}

/** Where a span has the query word for word; it may end behind the span. */
function findPhrase(text: string, { start, end }: Span, { phrase }: Query): FoundPhrase | undefined {
  if (phrase === undefined) return undefined;
  const shown = text.slice(start, end + 2 * phrase.source.length);
  let within: FoundPhrase | undefined;
  phrase.lastIndex = 0;
  for (let match = phrase.exec(shown); match !== null; match = phrase.exec(shown)) {
    const at = start + match.index;
    if (at > end) break;
    if (!isWithinWord(text, at) && !isWithinWord(text, start + phrase.lastIndex))
      return { match: "literal", at };
    within ??= { match: "within", at };
  }
  return within;
}

interface FoundPhrase {
  readonly match: "literal" | "within";
  readonly at: number;
}

/** A parsed query. Terms weigh more the rarer they are in the texts. */
export interface Query {
  readonly terms: readonly QueryTerm[];
  /** The weight of all terms that are not a bonus. */
  readonly weight: number;
  /** Matches the whole query word for word, which ranks above everything else. Undefined for an empty query. */
  readonly phrase: RegExp | undefined;
  /** Parts of the query that rank higher when found word for word: quoted text, paths, identifiers. */
  readonly literals: readonly Literal[];
  /** The terms that a word contains, as a bit mask in the order of the terms. */
  maskOf(word: string): number;
}

interface QueryTerm {
  readonly term: string;
  readonly weight: number;
  /** A bonus term raises the score but is not required: an identifier written as one word. */
  readonly isBonus: boolean;
}

interface Literal {
  readonly pattern: RegExp;
  readonly weight: number;
}

/** Reads a question, a few words or a quoted text. */
export function readQuery(index: TextIndex, search: string): Query {
  const asked = search.slice(0, MAX_QUERY_CHARS).trim();
  const { needed, bonus } = termsIn(asked);
  const rarityOf = (term: string): number => rarity(index, term);
  const known = [...bonus].filter((term) => !needed.has(term) && index.words().holdersOf(term) > 0);
  const terms = [
    ...[...needed].map((term) => ({ term, weight: rarityOf(term), isBonus: false })),
    ...known.map((term) => ({ term, weight: rarityOf(term) * BONUS_SHARE, isBonus: true })),
  ]
    .sort((one, other) => Number(one.isBonus) - Number(other.isBonus) || other.weight - one.weight)
    .slice(0, MAX_TERMS);
  return {
    terms,
    weight: sum(terms.filter(({ isBonus }) => !isBonus)),
    maskOf: createMasks(terms),
    phrase: asked === "" ? undefined : literalPattern(unquoted(asked)),
    literals: literalsIn(asked).map((text) => ({
      pattern: literalPattern(text),
      weight: [...termsIn(text).needed].reduce((weight, term) => weight + rarityOf(term), 0) * LITERAL_SHARE,
    })),
  };
}

const MAX_QUERY_CHARS = 2_000;
/** The bit mask has this many bits. */
const MAX_TERMS = 30;
const BONUS_SHARE = 0.5;
const LITERAL_SHARE = 0.5;

/** Words repeat, so each is split into terms once. */
function createMasks(terms: readonly QueryTerm[]): Query["maskOf"] {
  const bits = new Map(terms.map(({ term }, index) => [term, 1 << index]));
  const masks = new Map<string, number>();
  return (word) => {
    const known = masks.get(word);
    if (known !== undefined) return known;
    const { parts, whole } = termsOf(word);
    let mask = whole === undefined ? 0 : (bits.get(whole) ?? 0);
    for (const part of parts) mask |= bits.get(part) ?? 0;
    masks.set(word, mask);
    return mask;
  };
}

function sum(terms: readonly QueryTerm[]): number {
  return terms.reduce((total, { weight }) => total + weight, 0);
}

/** Question words do not count, unless nothing else is asked. */
function termsIn(text: string): {
  readonly needed: ReadonlySet<string>;
  readonly bonus: ReadonlySet<string>;
} {
  const all = new Set<string>();
  const bonus = new Set<string>();
  let before = "";
  eachWord(text, (start, end) => {
    const { parts, whole } = termsOf(text.slice(start, end));
    for (const part of parts) all.add(part);
    if (whole !== undefined) bonus.add(whole);
    const joined = parts.join("");
    if (before !== "") bonus.add(before + joined);
    before = joined;
  });
  const telling = new Set([...all].filter((term) => !STOP_TERMS.has(term) && term.length > 1));
  return { needed: telling.size > 0 ? telling : all, bonus };
}

function rarity({ passages, words }: TextIndex, term: string): number {
  const holders = words().holdersOf(term);
  return Math.log(1 + (passages.count - holders + 0.5) / (holders + 0.5));
}

/** A text word for word, whatever the case and however much space is between its words. */
function literalPattern(text: string): RegExp {
  return new RegExp(text.split(/\s+/).map(escapePattern).join("\\s+"), "gi");
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

function unquoted(text: string): string {
  return /^(["'`])(.+)\1$/s.exec(text)?.[2]?.trim() || text;
}

function literalsIn(text: string): readonly string[] {
  const quoted = [...text.matchAll(QUOTED)].map((match) => (match[1] ?? match[2] ?? match[3] ?? "").trim());
  const written = text.split(/\s+/).map((word) => word.replace(AROUND, ""));
  const literals = [...quoted, ...written.filter((word) => LITERAL_WORD.test(word))];
  return [...new Set(literals)].filter((literal) => literal.length > 1).slice(0, MAX_LITERALS);
}

const MAX_LITERALS = 8;
const QUOTED = /"([^"]{2,})"|`([^`]{2,})`|(?<![\p{L}\p{N}])'([^']{2,})'(?![\p{L}\p{N}])/gu;
const AROUND = /^[^\p{L}\p{N}_$/.@#-]+|[^\p{L}\p{N}_$/]+$/gu;
/** A path, a name with separators or mixed case, something with a digit. */
const LITERAL_WORD = /[\p{L}\p{N}][/._:#@-]+[\p{L}\p{N}]|\p{Ll}\p{Lu}|\p{N}/u;
const SATURATION = 0.9;
const LENGTH_SHARE = 0.3;

/** BM25 saturation: the weight of a term by its count and the length of the passage. */
export function saturate(count: number, length: number): number {
  return (count * (SATURATION + 1)) / (count + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length));
}
