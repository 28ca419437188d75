import type { Transcript } from "../transcript/message.ts";
import { hasIdentifier } from "./has-identifier.ts";
import { historyText } from "./history-text.ts";
import type { LocatedTarget } from "./locate-targets.ts";

/** Says of a target whether one search of the archive brings it back, with the words that a text still has. */
export type RecallSearch = (target: LocatedTarget, knownWords: ReadonlySet<string>) => boolean;

/**
 * A search over everything a history held. The child asks once for a target, with the words that stood around it
 * (its line and the neighbours, without the target itself), as far as it was left them. It gets the passages that
 * share most with its question, rare words counting more, newest first among equals, up to what a recall may give.
 */
export function createRecallSearch(history: Transcript): RecallSearch {
  const passages = passagesOf(history);
  const passagesWith = indexOf(passages);
  return (target, knownWords) => {
    const question = questionFor(target, knownWords);
    const text = bestPassages(question, { passages, passagesWith });
    return hasIdentifier(text, target) && target.places.some(({ snippet }) => text.includes(snippet));
  };
}

/** The words of a text, in lower case. */
export function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(WORD) ?? []);
}

const WORD = /[a-z0-9_]{3,}/g;
const PASSAGE_CHARS = 1_000;
/** What one recall gives at most. */
const RECALLED_CHARS = 8_000;

/** The blocks of a history in pieces of whole lines, oldest first. */
function passagesOf(history: Transcript): readonly string[] {
  const { text, blocks } = historyText(history);
  const passages: string[] = [];
  for (const { startChar, endChar } of blocks) {
    for (let from = startChar; from < endChar; ) {
      const lineEnd = text.indexOf("\n", Math.min(endChar, from + PASSAGE_CHARS));
      const to = lineEnd === -1 || lineEnd > endChar ? endChar : lineEnd;
      passages.push(text.slice(from, to));
      from = to + 1;
    }
  }
  return passages;
}

type PassagesWith = ReadonlyMap<string, readonly number[]>;

function indexOf(passages: readonly string[]): PassagesWith {
  const index = new Map<string, number[]>();
  for (const [number, passage] of passages.entries()) {
    for (const word of wordsOf(passage)) {
      const known = index.get(word);
      if (known === undefined) index.set(word, [number]);
      else known.push(number);
    }
  }
  return index;
}

function questionFor(
  { identifier, places }: LocatedTarget,
  knownWords: ReadonlySet<string>,
): readonly string[] {
  const { line = "", before = "", after = "" } = places[0] ?? {};
  const own = wordsOf(identifier);
  const around = wordsOf(`${before}\n${line}\n${after}`);
  return [...around].filter((word) => !own.has(word) && knownWords.has(word));
}

interface Archive {
  readonly passages: readonly string[];
  readonly passagesWith: PassagesWith;
}

function bestPassages(question: readonly string[], { passages, passagesWith }: Archive): string {
  const scores = new Map<number, number>();
  for (const word of question) {
    const holders = passagesWith.get(word) ?? [];
    const rarity = Math.log(1 + passages.length / Math.max(1, holders.length));
    for (const number of holders) scores.set(number, (scores.get(number) ?? 0) + rarity);
  }
  const best = [...scores].sort(
    ([one, oneScore], [other, otherScore]) => otherScore - oneScore || other - one,
  );
  let text = "";
  for (const [number] of best) {
    const passage = passages[number] ?? "";
    if (text.length + passage.length > RECALLED_CHARS) continue;
    text += `${passage}\n`;
  }
  return text;
}
