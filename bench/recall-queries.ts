import type { IndexedText } from "../src/text/search/text-index.ts";
import { createRandom } from "./generate-session.ts";

/** How a query differs from its target line. */
export type QueryKind = "question" | "order" | "missing" | "plural" | "case" | "verbatim";

/** The kinds of natural queries; `verbatim` is the control, which a search for a substring finds too. */
export const NATURAL_KINDS: readonly QueryKind[] = ["question", "order", "missing", "plural", "case"];

/** A query, and the only text of an archive that has all of its line's words in one line. */
export interface RecallQuery {
  readonly kind: QueryKind;
  readonly search: string;
  readonly handle: string;
  readonly line: string;
}

/**
 * Makes queries out of an archive, the same at every run: a line is drawn, its first words become the query, changed as the
 * kind says. Lines whose words stand together in a line of another text are passed over, since either would be right.
 */
export function makeQueries(
  texts: readonly IndexedText[],
  kinds: readonly QueryKind[],
  seed: number,
): readonly RecallQuery[] {
  const random = createRandom(seed);
  const lines = texts.flatMap(({ handle, text }) =>
    text.split("\n").map((line) => ({ handle, line: line.trim(), words: contentWords(line) })),
  );
  const eligible = lines.filter(
    ({ line, words }) => line.length <= MAX_LINE_CHARS && words.length >= MIN_WORDS,
  );
  const queries: RecallQuery[] = [];
  for (const kind of kinds) {
    for (let tries = 0; tries < MAX_TRIES && eligible.length > 0; tries++) {
      const drawn = eligible[Math.floor(random() * eligible.length)];
      if (drawn === undefined) break;
      const words = drawn.words.slice(0, QUERY_WORDS);
      const search = change(kind, { words, line: drawn.line, random });
      if (search === undefined || !isOnlyIn(drawn.handle, words, lines)) continue;
      queries.push({ kind, search, handle: drawn.handle, line: drawn.line });
      break;
    }
  }
  return queries;
}

const MIN_WORDS = 4;
const QUERY_WORDS = 5;
const MAX_LINE_CHARS = 240;
const MAX_TRIES = 200;

/** Words that somebody would remember of a line: longer words, without numbers and encoded data. */
function contentWords(line: string): readonly string[] {
  const words = line.match(/[\p{L}_][\p{L}\p{N}_]{3,29}/gu) ?? [];
  return [...new Set(words)];
}

interface DrawnLine {
  readonly words: readonly string[];
  readonly line: string;
  readonly random: () => number;
}

function change(kind: QueryKind, { words, line, random }: DrawnLine): string | undefined {
  const pick = (count: number): number => Math.floor(random() * count);
  switch (kind) {
    case "verbatim":
      return line;
    case "question":
      return (QUESTIONS[pick(QUESTIONS.length)] ?? "").replace("*", words.join(" "));
    case "order":
      return [...words].reverse().join(" ");
    case "missing":
      return words.toSpliced(1 + pick(words.length - 2), 1).join(" ");
    case "plural": {
      const plain = words.flatMap((word, index) => (/^[A-Za-z]?[a-z]{3,}$/.test(word) ? [index] : []));
      const at = plain[pick(plain.length)];
      return at === undefined ? undefined : words.with(at, otherNumber(words[at] ?? "")).join(" ");
    }
    case "case":
      return otherCase(words, random);
  }
}

const QUESTIONS: readonly string[] = [
  "what did we see about *?",
  "where was the * again?",
  "which file has * in it?",
  "how is * done, and why?",
  "can you find the part that says *?",
  "did any of the tools print * earlier?",
];

function otherNumber(word: string): string {
  if (/[^s]s$/.test(word)) return word.slice(0, -1);
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return /(?:s|sh|ch|x|z)$/.test(word) ? `${word}es` : `${word}s`;
}

/** An identifier as words, or two words as an identifier. */
function otherCase(words: readonly string[], random: () => number): string | undefined {
  const named = words.findIndex((word) => /[a-z][A-Z]|[A-Za-z]_[A-Za-z]/.test(word));
  if (named !== -1) {
    const apart = (words[named] ?? "")
      .replace(/([a-z])([A-Z])/g, "$1 $2")
      .replaceAll("_", " ")
      .toLowerCase()
      .trim();
    return words.with(named, apart).join(" ");
  }
  const at = Math.floor(random() * (words.length - 1));
  const [first = "", second = ""] = words.slice(at, at + 2);
  const joined = random() < 0.5 ? first + second[0]?.toUpperCase() + second.slice(1) : `${first}_${second}`;
  return words.toSpliced(at, 2, joined).join(" ");
}

function isOnlyIn(
  handle: string,
  words: readonly string[],
  lines: readonly { readonly handle: string; readonly line: string }[],
): boolean {
  const wanted = words.map((word) => word.toLowerCase());
  return lines.every((other) => {
    if (other.handle === handle) return true;
    const text = other.line.toLowerCase();
    return !wanted.every((word) => text.includes(word));
  });
}
