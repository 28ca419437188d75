import type { FillRows } from "./fill-rows.ts";
import type { FillSource } from "./fill-source.ts";
import type { NumberedWords } from "./number-words.ts";

/** How a transcript uses its words. */
export interface WordUse {
  /** Per word: how much agent and user wrote it lately. */
  readonly written: Float64Array;
  /** The same, less for words that stand everywhere. */
  readonly activity: Float64Array;
  /** Per word: in how many texts it stands. */
  readonly texts: Int32Array;
}

/** The most that the activity of a word, or of a line, counts. */
export const MAX_ACTIVITY = 4;

/** Counts words, newer ones more. */
export function wordUse({ segments, parts }: FillRows, numbered: NumberedWords): WordUse {
  const { words, firstWord, wordCount } = numbered;
  const written = new Float64Array(wordCount);
  const texts = new Int32Array(wordCount);
  const uses = new Int32Array(wordCount);
  const lastText = new Int32Array(wordCount);
  let text = 0;
  for (const { source, partNumber, firstRow, endRow } of segments) {
    text++;
    const callsSince = parts[partNumber]?.callsSince ?? 0;
    const fresh = SHOWN_SOURCES.has(source) ? 0 : Math.exp(-callsSince / FRESH_RESULTS);
    const lastWord = firstWord[endRow] ?? 0;
    for (let at = firstWord[firstRow] ?? 0; at < lastWord; at++) {
      const word = words[at] ?? 0;
      uses[word] = (uses[word] ?? 0) + 1;
      written[word] = (written[word] ?? 0) + fresh;
      if (lastText[word] === text) continue;
      lastText[word] = text;
      texts[word] = (texts[word] ?? 0) + 1;
    }
  }
  const activity = new Float64Array(wordCount);
  for (let word = 0; word < wordCount; word++)
    activity[word] = Math.min(MAX_ACTIVITY, written[word] ?? 0) / Math.sqrt(uses[word] ?? 1);
  return { written, activity, texts };
}

/** What tools showed, as opposed to what agent and user wrote. */
const SHOWN_SOURCES: ReadonlySet<FillSource> = new Set(["read", "search", "output"]);
/** After so many results, words that were written count a third. */
const FRESH_RESULTS = 15;
