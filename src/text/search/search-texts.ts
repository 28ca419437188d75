import { type FoundText, lookInto, type Query, readQuery, saturate } from "./look-into.ts";
import type { IndexEntry, TextIndex } from "./text-index.ts";
import { isWithinWord } from "./words.ts";

/**
 * The texts that hold most of what is asked for, best first: those that hold it word for word, then by their words, of
 * which rare ones count more. Passages are chosen by the index (`scorePassages`); only these are then read, and ranked by
 * how close together the words stand (`look-into.ts`).
 */
export function searchTexts(
  index: TextIndex,
  entries: readonly IndexEntry[],
  { search, clean }: SearchRequest,
): FoundTexts {
  const query = readQuery(index, search);
  const candidates = new Map<IndexEntry, number[]>();
  const literal = addLiteral(candidates, { index, entries, query });
  const likely = addByWords(candidates, { index, query });
  const found: FoundText[] = [];
  for (const [entry, passages] of candidates) {
    const text = lookInto({ entry, passages, text: clean(entry), index, query });
    if (text !== undefined) found.push(text);
  }
  const isLiteral = found.some(({ match }) => match !== "words");
  const most = found.reduce((score, text) => Math.max(score, text.score), 0);
  const least = most * (isLiteral ? LEAST_SHARE_BESIDE_LITERAL : LEAST_SHARE);
  const texts = found
    .filter(({ score, match }) => match !== "words" || score >= least)
    .sort(
      (one, other) =>
        MATCH_ORDER[one.match] - MATCH_ORDER[other.match] || other.score - one.score || one.rank - other.rank,
    );
  const unread = [...new Set([...literal, ...likely])].filter((entry) => !candidates.has(entry)).length;
  // When redaction removed every hit, the total is 0 as well: a count would tell what the texts hold without being
  // shown.
  return { texts, total: texts.length === 0 ? 0 : texts.length + unread };
}

interface SearchRequest {
  readonly search: string;
  /** A text as it may be shown. */
  readonly clean: (entry: IndexEntry) => string;
}

interface FoundTexts {
  readonly texts: readonly FoundText[];
  /** How many texts match; not all of them were read. */
  readonly total: number;
}

const MATCH_ORDER = { words: 2, within: 1, literal: 0 } as const;
/** Texts that score below this share of the best one are left out. */
const LEAST_SHARE = 0.5;
const LEAST_SHARE_BESIDE_LITERAL = 0.75;
const MAX_READ = 32;
const MAX_PASSAGES_READ = 4;

interface Search {
  readonly index: TextIndex;
  readonly query: Query;
}

/** The newest texts that contain the query word for word, with the places. Gives the number of all such texts. */
function addLiteral(
  candidates: Map<IndexEntry, number[]>,
  { index, entries, query: { phrase } }: Search & { readonly entries: readonly IndexEntry[] },
): ReadonlySet<IndexEntry> {
  const holders = new Set<IndexEntry>();
  if (phrase === undefined) return holders;
  const within: (readonly [IndexEntry, number[]])[] = [];
  for (const entry of entries) {
    const places = placesOf(phrase, entry.text);
    if (places.length === 0) continue;
    holders.add(entry);
    const passages = [...new Set(places.map(({ start }) => passageAt(index, entry, start)))];
    // Whole words come first, so they are read first.
    if (places.some(({ isWhole }) => isWhole)) {
      if (candidates.size < MAX_READ) candidates.set(entry, passages);
    } else within.push([entry, passages]);
  }
  for (const [entry, passages] of within) if (candidates.size < MAX_READ) candidates.set(entry, passages);
  return holders;
}

function placesOf(phrase: RegExp, text: string): readonly Place[] {
  const places: Place[] = [];
  phrase.lastIndex = 0;
  for (let match = phrase.exec(text); match !== null; match = phrase.exec(text)) {
    const { index: start } = match;
    const isWhole = !isWithinWord(text, start) && !isWithinWord(text, phrase.lastIndex);
    places.push({ start, isWhole });
    if (places.length === MAX_PASSAGES_READ) break;
  }
  return places;
}

interface Place {
  readonly start: number;
  readonly isWhole: boolean;
}

function passageAt({ passages }: TextIndex, { firstPassage, endPassage }: IndexEntry, at: number): number {
  let [low, high] = [firstPassage, endPassage - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (passages.startOf(middle) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The texts with the best passages by words. Gives how many texts cover about as much of the query. */
function addByWords(
  candidates: Map<IndexEntry, number[]>,
  { index, query }: Search,
): ReadonlySet<IndexEntry> {
  const { scores, covered } = scorePassages(index, query);
  const { passages } = index;
  const enough = Math.max(query.weight * LEAST_COVERED, Number.MIN_VALUE);
  const best = new Map<IndexEntry, number[]>();
  for (let passage = 0; passage < passages.count; passage++) {
    if ((covered[passage] as number) < enough) continue;
    const entry = passages.entryOf(passage);
    if (entry.rank === -1) continue;
    const list = best.get(entry);
    if (list === undefined) best.set(entry, [passage]);
    else insertBest(list, passage, scores);
  }
  const scoreOf = (list: readonly number[]): number => scores[list[0] as number] as number;
  const ordered = [...best].sort(
    ([one, oneList], [other, otherList]) => scoreOf(otherList) - scoreOf(oneList) || one.rank - other.rank,
  );
  for (const [entry, list] of ordered.slice(0, MAX_READ))
    candidates.set(entry, [...new Set([...(candidates.get(entry) ?? []), ...list])]);
  const most = scoreOf(ordered[0]?.[1] ?? []) || 0;
  return new Set(ordered.flatMap(([entry, list]) => (scoreOf(list) >= most * LEAST_SHARE ? [entry] : [])));
}

/** Passages that cover less of the query than this are ignored. */
const LEAST_COVERED = 0.2;

function insertBest(list: number[], passage: number, scores: Float64Array): void {
  const score = scores[passage] as number;
  let at = list.length;
  while (at > 0 && (scores[list[at - 1] as number] as number) < score) at--;
  if (at >= MAX_PASSAGES_READ) return;
  list.splice(at, 0, passage);
  if (list.length > MAX_PASSAGES_READ) list.pop();
}

interface PassageScores {
  /** By passage: rare words count more, a word that comes again counts little. */
  readonly scores: Float64Array;
  /** The weight of the terms that it has. */
  readonly covered: Float64Array;
}

/** BM25 over passages. */
function scorePassages({ passages, words }: TextIndex, { terms }: Query): PassageScores {
  const scores = new Float64Array(passages.count);
  const covered = new Float64Array(passages.count);
  const { meanWords } = passages;
  for (const { term, weight, isBonus } of terms) {
    words().eachHolder(term, (passage, count) => {
      const length = passages.wordsIn(passage) / meanWords;
      scores[passage] = (scores[passage] as number) + weight * saturate(count, length);
      if (!isBonus) covered[passage] = (covered[passage] as number) + weight;
    });
  }
  return { scores, covered };
}
