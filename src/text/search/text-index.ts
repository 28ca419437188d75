import { termsOf } from "./terms.ts";
import { eachWord, type VisitWord } from "./words.ts";

/** A searchable text and the id that search results carry. */
export interface IndexedText {
  readonly handle: string;
  readonly text: string;
}

/** Which words stand in which passages of some texts. Grows with every text that is new, and never reads one twice. */
export interface TextIndex {
  /** Replaces the searchable texts, best first among equals. Gives their entries in that order. */
  update(texts: Iterable<IndexedText>): readonly IndexEntry[];
  /** The inverted index of the passages. */
  words(): Pick<WordStore, "holdersOf" | "eachHolder">;
  readonly passages: Passages;
}

/** One text in the index. */
export interface IndexEntry {
  readonly handle: string;
  /** As it was given. */
  readonly raw: string;
  /** As it is searched. */
  readonly text: string;
  readonly firstPassage: number;
  readonly endPassage: number;
  /** Its place in the newest list; -1 where it is not in it. */
  rank: number;
}

/** Passages by number: runs of whole lines; a line that is too long is split. */
interface Passages {
  readonly count: number;
  entryOf(passage: number): IndexEntry;
  startOf(passage: number): number;
  endOf(passage: number): number;
  wordsIn(passage: number): number;
  readonly meanWords: number;
}

/** Creates an empty index. `clean` redacts a text before it is indexed; readers must apply the same function. */
export function createTextIndex(clean: (text: string) => string): TextIndex {
  let store = emptyStore();

  function add({ handle, text: raw }: IndexedText): IndexEntry {
    const text = clean(raw);
    const firstPassage = store.starts.length;
    const entry = { handle, raw, text, firstPassage, endPassage: firstPassage, rank: -1 };
    entry.endPassage = addPassages(store, entry);
    store.entries.set(handle, entry);
    return entry;
  }

  function take(texts: readonly IndexedText[]): readonly IndexEntry[] {
    for (const entry of store.entries.values()) entry.rank = -1;
    const listed: IndexEntry[] = [];
    for (const given of texts) {
      const known = store.entries.get(given.handle);
      if (known !== undefined && known.rank !== -1) continue;
      const entry = known?.raw === given.text ? known : add(given);
      entry.rank = listed.length;
      listed.push(entry);
    }
    return listed;
  }

  return {
    update(texts) {
      const given = [...texts];
      const listed = take(given);
      const used = listed.reduce((sum, { firstPassage, endPassage }) => sum + endPassage - firstPassage, 0);
      if (store.starts.length < MIN_REBUILT_PASSAGES || used > store.starts.length / 2) return listed;
      // Most passages belong to removed texts: rebuild.
      store = emptyStore();
      return take(given);
    },
    words: () => store.words,
    passages: {
      get count() {
        return store.starts.length;
      },
      entryOf: (passage) => store.owners[passage] as IndexEntry,
      startOf: (passage) => store.starts[passage] ?? 0,
      endOf(passage) {
        const { endPassage, text } = store.owners[passage] as IndexEntry;
        return passage + 1 < endPassage ? (store.starts[passage + 1] ?? 0) : text.length;
      },
      wordsIn: (passage) => store.wordCounts[passage] ?? 0,
      get meanWords() {
        return store.totalWords / Math.max(1, store.starts.length);
      },
    },
  };
}

const MIN_REBUILT_PASSAGES = 1_000;

interface Store {
  readonly entries: Map<string, IndexEntry>;
  readonly words: WordStore;
  readonly starts: number[];
  readonly owners: IndexEntry[];
  readonly wordCounts: number[];
  totalWords: number;
}

function emptyStore(): Store {
  return {
    entries: new Map(),
    words: createWordStore(),
    starts: [],
    owners: [],
    wordCounts: [],
    totalWords: 0,
  };
}

/** Long enough to have a topic, short enough to show. */
const PASSAGE_CHARS = 600;
const MOST_PASSAGE_CHARS = 2 * PASSAGE_CHARS;

/** Adds the passages of a text and gives the number behind the last. */
function addPassages(store: Store, entry: IndexEntry): number {
  const { text } = entry;
  let passage = -1;
  let start = 0;
  let words = 0;
  let lineStart = 0;
  let nextBreak = text.indexOf("\n");
  const endPassage = (): void => {
    store.wordCounts.push(words);
    store.totalWords += words;
  };
  const begin = (at: number): void => {
    if (passage !== -1) endPassage();
    words = 0;
    start = at;
    passage = store.starts.push(at) - 1;
    store.owners.push(entry);
  };
  begin(0);
  const addWord = store.words.adderFor(text, () => passage);
  eachWord(text, (from, to) => {
    while (nextBreak !== -1 && nextBreak < from) {
      lineStart = nextBreak + 1;
      nextBreak = text.indexOf("\n", lineStart);
    }
    if (lineStart - start >= PASSAGE_CHARS) begin(lineStart);
    else if (from - start >= MOST_PASSAGE_CHARS) begin(from);
    words++;
    addWord(from, to);
  });
  endPassage();
  return passage + 1;
}

/** How often the terms of words stand in which passages. */
interface WordStore {
  /** Passages that hold a term; 0 for one that no passage has. */
  holdersOf(term: string): number;
  /** Calls back for every passage that holds a term, with how often. */
  eachHolder(term: string, visit: (passage: number, count: number) => void): void;
  /** Gives a function that adds words to a passage, one at a time. Passage numbers must not decrease. */
  adderFor(text: string, passage: () => number): VisitWord;
}

/**
 * Creates an empty store. Postings of all terms are in one array of numbers, in which each entry points to the
 * previous entry of its term: no object per word, because an archive has millions of words.
 */
function createWordStore(): WordStore {
  /** By word: the numbers of its terms. */
  const words = new Map<string, readonly number[]>();
  const terms = new Map<string, number>();
  /** By term: the index of its newest entry plus 1, and the number of its entries. */
  let newest = new Int32Array(FIRST_SIZE);
  let holders = new Int32Array(FIRST_SIZE);
  /** By entry: the passage and the count, and the index of the previous entry plus 1. */
  let places = new Int32Array(FIRST_SIZE);
  let before = new Int32Array(FIRST_SIZE);
  let entries = 0;

  function termNumber(term: string): number {
    const known = terms.get(term);
    if (known !== undefined) return known;
    const number = terms.size;
    terms.set(term, number);
    if (number === newest.length) [newest, holders] = [grown(newest), grown(holders)];
    return number;
  }

  function addWord(word: string): readonly number[] {
    const { parts, whole } = termsOf(word);
    const numbers = [...parts, ...(whole === undefined ? [] : [whole])].map(termNumber);
    words.set(word, numbers);
    return numbers;
  }

  function addTerm(term: number, passage: number): void {
    const last = newest[term] as number;
    if (last !== 0 && (places[last - 1] as number) >> COUNT_BITS === passage) {
      const place = places[last - 1] as number;
      if ((place & MOST_COUNT) < MOST_COUNT) places[last - 1] = place + 1;
      return;
    }
    if (entries === places.length) [places, before] = [grown(places), grown(before)];
    places[entries] = (passage << COUNT_BITS) | 1;
    before[entries] = last;
    newest[term] = ++entries;
    holders[term] = (holders[term] as number) + 1;
  }

  return {
    holdersOf: (term) => holders[terms.get(term) ?? -1] ?? 0,
    eachHolder(term, visit) {
      for (let entry = newest[terms.get(term) ?? -1] ?? 0; entry !== 0; entry = before[entry - 1] as number) {
        const place = places[entry - 1] as number;
        visit(place >> COUNT_BITS, place & MOST_COUNT);
      }
    },
    adderFor(text, passage) {
      return (start, end) => {
        const word = text.slice(start, end);
        const numbers = words.get(word) ?? addWord(word);
        for (let index = 0; index < numbers.length; index++) addTerm(numbers[index] as number, passage());
      };
    },
  };
}

const FIRST_SIZE = 4_096;
const COUNT_BITS = 4;
const MOST_COUNT = (1 << COUNT_BITS) - 1;

function grown(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
