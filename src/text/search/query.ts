import type { TextIndex } from "./text-index.ts";
import { eachWord, STOP_TERMS, termsOf } from "./words.ts";

/** What is asked for, weighed by how rare it is in the texts. */
export interface Query {
  readonly terms: readonly QueryTerm[];
  /** What all terms weigh that a text can be expected to have. */
  readonly weight: number;
  /** Found word for word it comes before everything else; undefined where there is nothing to look for. */
  readonly phrase: RegExp | undefined;
  /** Parts that mean more word for word: what stands in quotes, paths, identifiers. */
  readonly literals: readonly Literal[];
  /** Which terms a word has: bit by bit, in their order. */
  maskOf(word: string): number;
}

export interface QueryTerm {
  readonly term: string;
  readonly weight: number;
  /** A bonus adds to what has it and is not missed elsewhere: an identifier written as one word. */
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
  const weigh = (term: string): number => rarity(index, term);
  const known = [...bonus].filter((term) => !needed.has(term) && index.words().holdersOf(term) > 0);
  const terms = [
    ...[...needed].map((term) => ({ term, weight: weigh(term), isBonus: false })),
    ...known.map((term) => ({ term, weight: weigh(term) * BONUS_SHARE, isBonus: true })),
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
      weight: [...termsIn(text).needed].reduce((weight, term) => weight + weigh(term), 0) * LITERAL_SHARE,
    })),
  };
}

const MAX_QUERY_CHARS = 2_000;
/** As many as there are bits in a number. */
const MAX_TERMS = 30;
const BONUS_SHARE = 0.5;
const LITERAL_SHARE = 0.5;

/** Words come again and again, so each is taken apart once. */
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

/** What a term counts that comes so often in a passage of such a length. */
export function saturate(count: number, length: number): number {
  return (count * (SATURATION + 1)) / (count + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length));
}
