/**
 * Calls back for every word of a text: letters and digits of any language, with underscores between them and points
 * between digits. Where words are not set apart (Chinese, Japanese, Korean, Thai), every two characters are one.
 */
export function eachWord(text: string, visit: VisitWord, span?: WordSpan): void {
  const end = span?.end ?? text.length;
  let at = span?.start ?? 0;
  while (at < end) {
    const kind = kindOf(text.charCodeAt(at));
    const start = at++;
    if (kind === SEPARATOR || kind === JOINER) continue;
    if (kind === UNSPACED) {
      const next = at < end ? text.charCodeAt(at) : 0;
      if (kindOf(next) === UNSPACED) visit(start, at + 1);
      else if (start === 0 || kindOf(text.charCodeAt(start - 1)) !== UNSPACED) visit(start, at);
      continue;
    }
    for (; at < end; at++) {
      const next = kindOf(text.charCodeAt(at));
      if (next === UNSPACED || (next === SEPARATOR && !isDecimalPoint(text, at))) break;
    }
    visit(start, at);
  }
}

/** A callback instead of a list, because a text has millions of words. */
export type VisitWord = (start: number, end: number) => void;

/** The part of a text whose words are meant. */
interface WordSpan {
  readonly start: number;
  readonly end: number;
}

const SEPARATOR = 1;
const JOINER = 2;
const UNSPACED = 3;
const LETTER = 4;

/** The kind of each UTF-16 unit, computed at first use. */
const kinds = new Uint8Array(0x1_0000);

function kindOf(unit: number): number {
  const known = kinds[unit] ?? SEPARATOR;
  if (known !== 0) return known;
  const char = String.fromCharCode(unit);
  const kind =
    char === "_" ? JOINER : UNSPACED_CHAR.test(char) ? UNSPACED : WORD_CHAR.test(char) ? LETTER : SEPARATOR;
  kinds[unit] = kind;
  return kind;
}

const WORD_CHAR = /[\p{L}\p{N}\p{M}]/u;
const UNSPACED_CHAR =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]/u;

function isDecimalPoint(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === POINT && isDigit(text.charCodeAt(at - 1)) && isDigit(text.charCodeAt(at + 1))
  );
}

const POINT = 46;

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

/** True inside a word: the units on both sides belong to words. */
export function isWithinWord(text: string, at: number): boolean {
  return at > 0 && at < text.length && isOfWord(text.charCodeAt(at - 1)) && isOfWord(text.charCodeAt(at));
}

function isOfWord(unit: number): boolean {
  const kind = kindOf(unit);
  return kind === LETTER || kind === JOINER;
}
