import { createWordStore, type WordStore } from "./word-store.ts";
import { eachWord } from "./words.ts";

/** A text that can be found, under the name that it is given back by. */
export interface IndexedText {
  readonly handle: string;
  readonly text: string;
}

/** Which words stand in which passages of some texts. Grows with every text that is new, and never reads one twice. */
export interface TextIndex {
  /** Makes these the texts that are searched, the most important of equals first; gives them in that order. */
  update(texts: Iterable<IndexedText>): readonly IndexEntry[];
  /** What is known of the words of its passages. */
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

/** Passages by their numbers: stretches of whole lines, but for lines that are too long. */
interface Passages {
  readonly count: number;
  entryOf(passage: number): IndexEntry;
  startOf(passage: number): number;
  endOf(passage: number): number;
  wordsIn(passage: number): number;
  readonly meanWords: number;
}

/** An index without texts; `clean` makes a text fit to be read and must be what readers of the text apply. */
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
      // Most of it belongs to texts that are gone or have changed.
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

/** Enough lines to know what they are about, and few enough to be shown. */
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
  eachWord(text, (from, to, hash, check) => {
    while (nextBreak !== -1 && nextBreak < from) {
      lineStart = nextBreak + 1;
      nextBreak = text.indexOf("\n", lineStart);
    }
    if (lineStart - start >= PASSAGE_CHARS) begin(lineStart);
    else if (from - start >= MOST_PASSAGE_CHARS) begin(from);
    words++;
    addWord(from, to, hash, check);
  });
  endPassage();
  return passage + 1;
}
