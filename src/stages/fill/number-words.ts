import type { FillRows } from "./fill-rows.ts";
import { createNumberTable } from "./number-table.ts";

/** The words of all rows as small numbers, and which rows say the same. */
export interface NumberedWords {
  /** Row `r` has the words from `firstWord[r]` up to `firstWord[r + 1]`. */
  readonly words: Int32Array;
  readonly firstWord: Int32Array;
  /** Per word: 1 for what a model cannot guess, such as `fooBar`, `foo_bar`, `a1b2c3d4`, `some/path`. */
  readonly isIdentifier: Uint8Array;
  readonly wordCount: number;
  /** Per row, a number that rows with the same line share, line numbers and indentation aside. */
  readonly lineOf: Int32Array;
  readonly lineCount: number;
}

/** Reads every character of every row once. */
export function numberWords({ segments, rows }: FillRows): NumberedWords {
  const table = createNumberTable();
  const lines = createNumberTable();
  const firstWord = new Int32Array(rows.length + 1);
  const lineOf = new Int32Array(rows.length);
  let words = new Int32Array(1 << 14);
  let isIdentifier = new Uint8Array(1 << 12);
  let used = 0;

  function add(hash: number, identifier: 0 | 1): void {
    const word = table.numberOf(hash);
    if (word >= isIdentifier.length) isIdentifier = doubled(isIdentifier, Uint8Array);
    if (identifier === 1) isIdentifier[word] = 1;
    if (used >= words.length) words = doubled(words, Int32Array);
    words[used++] = word;
  }

  for (const { text, firstRow, endRow } of segments) {
    for (let row = firstRow; row < endRow; row++) {
      firstWord[row] = used;
      const { bodyStart = 0, end = 0 } = rows[row] ?? {};
      lineOf[row] = lines.numberOf(readLine(text, { from: bodyStart, to: end, add }));
    }
  }
  firstWord[rows.length] = used;
  return { words, firstWord, isIdentifier, wordCount: table.size(), lineOf, lineCount: lines.size() };
}

function doubled<T extends Int32Array | Uint8Array>(array: T, Type: new (length: number) => T): T {
  const larger = new Type(array.length * 2);
  larger.set(array);
  return larger;
}

const MIN_WORD_CHARS = 3;
const MIN_NAME_CHARS = 6;
const MIN_MIXED_CHARS = 8;
const MIN_PATH_CHARS = 5;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;

/** What was met in a word so far, as bits. */
const LOWER_BEFORE = 1;
const HUMP = 2;
const UNDERSCORE_BEFORE = 4;
const INNER_UNDERSCORE = 8;
const LETTER = 16;
const LETTER_THEN_DIGIT = 32;

interface LineReader {
  readonly from: number;
  readonly to: number;
  readonly add: (hash: number, identifier: 0 | 1) => void;
}

/** Adds the words of a line, and of each path its last two names as one more; gives the hash of the line. */
function readLine(text: string, { from, to, add }: LineReader): number {
  let lineHash = SEED;
  let isIndent = true;
  let wordHash = SEED;
  let wordChars = 0;
  let shape = 0;
  let nameHash = SEED;
  let folderHash = SEED;
  let slashes = 0;
  let pathChars = 0;
  for (let at = from; at <= to; at++) {
    const unit = at === to ? 0 : text.charCodeAt(at);
    if (at < to && (unit > 32 || !isIndent)) {
      isIndent = false;
      lineHash = Math.imul(lineHash ^ unit, PRIME);
    }
    const kind = unit < 128 ? (KINDS[unit] ?? 0) : 0;
    if (kind >= UNDERSCORE) {
      wordHash = Math.imul(wordHash ^ unit, PRIME);
      nameHash = Math.imul(nameHash ^ unit, PRIME);
      wordChars++;
      pathChars++;
      shape = nextShape(shape, kind);
      continue;
    }
    if (wordChars >= MIN_WORD_CHARS && (shape & LETTER) !== 0)
      add(wordHash, isName(shape, wordChars) ? 1 : 0);
    wordChars = 0;
    wordHash = SEED;
    shape = 0;
    if (kind === SLASH) {
      slashes++;
      pathChars++;
      folderHash = nameHash;
      nameHash = SEED;
    } else if (kind === PATH_SIGN) {
      pathChars++;
      nameHash = Math.imul(nameHash ^ unit, PRIME);
    } else {
      if (slashes > 0 && pathChars >= MIN_PATH_CHARS && nameHash !== SEED)
        add(Math.imul(folderHash, 31) ^ nameHash, 1);
      slashes = 0;
      pathChars = 0;
      nameHash = SEED;
      folderHash = SEED;
    }
  }
  return lineHash;
}

const PATH_SIGN = 1;
const SLASH = 2;
const UNDERSCORE = 3;
const DIGIT = 4;
const LOWER = 5;
const UPPER = 6;
const KINDS: Uint8Array = Uint8Array.from({ length: 128 }, (_, unit) => {
  const sign = String.fromCharCode(unit);
  if (/[a-z]/.test(sign)) return LOWER;
  if (/[A-Z]/.test(sign)) return UPPER;
  if (/\d/.test(sign)) return DIGIT;
  if (sign === "_") return UNDERSCORE;
  if (sign === "/") return SLASH;
  return /[.@+-]/.test(sign) ? PATH_SIGN : 0;
});

function nextShape(shape: number, kind: number): number {
  if (kind === UNDERSCORE) return (shape & (LETTER | LOWER_BEFORE)) === 0 ? shape : shape | UNDERSCORE_BEFORE;
  let next = shape;
  if ((shape & UNDERSCORE_BEFORE) !== 0) next |= INNER_UNDERSCORE;
  if (kind === UPPER && (shape & LOWER_BEFORE) !== 0) next |= HUMP;
  if (kind === DIGIT && (shape & LETTER) !== 0) next |= LETTER_THEN_DIGIT;
  if (kind !== DIGIT) next |= LETTER;
  return kind === UPPER ? next & ~LOWER_BEFORE : next | LOWER_BEFORE;
}

function isName(shape: number, chars: number): boolean {
  if ((shape & (HUMP | INNER_UNDERSCORE)) !== 0) return chars >= MIN_NAME_CHARS;
  return (shape & LETTER_THEN_DIGIT) !== 0 && chars >= MIN_MIXED_CHARS;
}
