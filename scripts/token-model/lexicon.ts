/** The words and phrases from which sample texts are made; two disjoint ones exist, one to fit and one to test. */
export interface Lexicon {
  readonly english: EnglishWords;
  readonly scripts: ScriptPhrases;
}

export interface EnglishWords {
  /** Words that hold sentences together; repeated ones are drawn more often. */
  readonly glue: readonly string[];
  readonly plain: readonly string[];
  /** Longer or rarer words. */
  readonly long: readonly string[];
  readonly names: readonly string[];
  /** The words that programs use most. */
  readonly staple: readonly string[];
  /** Other words of which identifiers are made. */
  readonly code: readonly string[];
  /** Abbreviations in identifiers and paths. */
  readonly short: readonly string[];
  readonly packages: readonly string[];
}

/** Phrases in other scripts, which sentences join in any order. */
export interface ScriptPhrases {
  readonly chinese: readonly string[];
  readonly russian: readonly string[];
  readonly japanese: readonly string[];
  readonly korean: readonly string[];
  readonly arabic: readonly string[];
  readonly european: readonly string[];
  /** Greek, Hebrew, Hindi, Thai and other scripts, one phrase each. */
  readonly others: readonly string[];
}

/** The words of a block of text. */
export function words(block: string): readonly string[] {
  return block.trim().split(/\s+/);
}

/** The non-empty lines of a block of text. */
export function lines(block: string): readonly string[] {
  return block
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
