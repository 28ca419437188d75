import { doubled, type FillRows } from "./rows.ts";

/** The words of all rows as small numbers, and which rows have the same line. */
export interface InternedWords {
  /** Row `r` has the words from `firstWord[r]` up to `firstWord[r + 1]`. */
  readonly words: Int32Array;
  readonly firstWord: Int32Array;
  /** Per word: 1 for what a model cannot guess, such as `fooBar`, `foo_bar`, `a1b2c3d4`, `some/path`. */
  readonly isIdentifier: Uint8Array;
  readonly wordCount: number;
  /** Per row: a number that rows with the same line share, without line numbers and indentation. */
  readonly lineOf: Int32Array;
  readonly lineCount: number;
  /** Per row: the columns of its indentation. */
  readonly indent: Int32Array;
  /** Per row: 1 for a comment or a decorator, which belongs to what follows. */
  readonly isComment: Uint8Array;
}

/** Reads every character of every row once. */
export function internWords({ segments, rows }: FillRows): InternedWords {
  const table = createInternTable();
  const lines = createInternTable();
  const firstWord = new Int32Array(rows.count + 1);
  const lineOf = new Int32Array(rows.count);
  const indent = new Int32Array(rows.count);
  const isComment = new Uint8Array(rows.count);
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
      const end = rows.end[row] ?? 0;
      let at = rows.bodyStart[row] ?? 0;
      let columns = 0;
      let unit = text.charCodeAt(at);
      while (at < end && unit <= SPACE) {
        columns += unit === TAB ? TAB_COLUMNS : 1;
        unit = text.charCodeAt(++at);
      }
      indent[row] = columns;
      if (unit === 0x2f || unit === 0x23 || unit === 0x2a || unit === 0x40) isComment[row] = 1;
      lineOf[row] = lines.numberOf(readLine(text, { from: at, to: end, add }));
    }
  }
  firstWord[rows.count] = used;
  const counts = { wordCount: table.size(), lineCount: lines.size() };
  return { words, firstWord, isIdentifier, lineOf, indent, isComment, ...counts };
}

const MIN_WORD_CHARS = 3;
const MIN_NAME_CHARS = 6;
const MIN_MIXED_CHARS = 8;
const MIN_PATH_CHARS = 5;
const MIN_DIGEST_CHARS = 20;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;

interface LineReader {
  readonly from: number;
  readonly to: number;
  readonly add: (hash: number, identifier: 0 | 1) => void;
}

/** Adds the words of a line, and the last two names of each path as one more word; gives the hash of the line. */
function readLine(text: string, { from, to, add }: LineReader): number {
  let lineHash = SEED;
  let nameHash = SEED;
  let folderHash = SEED;
  let slashes = 0;
  let pathStart = from;
  let at = from;
  let opaque = false;
  while (at < to) {
    let unit = text.charCodeAt(at);
    let kind = unit < 128 ? (KINDS[unit] ?? 0) : 0;
    if (kind >= UNDERSCORE) {
      const wordStart = at;
      let wordHash = SEED;
      let shape = 0;
      do {
        wordHash = Math.imul(wordHash ^ unit, PRIME);
        shape = SHAPES[(shape << 3) | kind] ?? 0;
        at++;
        if (at === to) break;
        unit = text.charCodeAt(at);
        kind = unit < 128 ? (KINDS[unit] ?? 0) : 0;
      } while (kind >= UNDERSCORE);
      lineHash = Math.imul(lineHash ^ wordHash, PRIME);
      nameHash = Math.imul(nameHash ^ wordHash, PRIME);
      const wordChars = at - wordStart;
      opaque = wordChars >= MIN_DIGEST_CHARS && isHexadecimal(text, wordStart, at);
      if (wordChars >= MIN_WORD_CHARS && (shape & LETTER) !== 0)
        add(wordHash, !opaque && isName(shape, wordChars) ? 1 : 0);
      if (at === to) break;
    }
    lineHash = Math.imul(lineHash ^ unit, PRIME);
    if (kind === SLASH) {
      slashes++;
      folderHash = nameHash;
      nameHash = SEED;
    } else if (kind === PATH_SIGN) {
      nameHash = Math.imul(nameHash ^ unit, PRIME);
    } else {
      if (slashes > 0 && at - pathStart >= MIN_PATH_CHARS && nameHash !== SEED)
        add(pathHash(folderHash, nameHash), opaque ? 0 : 1);
      slashes = 0;
      pathStart = at + 1;
      nameHash = SEED;
      folderHash = SEED;
    }
    at++;
  }
  if (slashes > 0 && to - pathStart >= MIN_PATH_CHARS && nameHash !== SEED)
    add(pathHash(folderHash, nameHash), opaque ? 0 : 1);
  return lineHash;
}

/** True for a digest, such as the name of a Git object, which is unique but never needed again. */
function isHexadecimal(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at) | 32;
    if (!((unit >= 48 && unit <= 57) || (unit >= 97 && unit <= 102))) return false;
  }
  return true;
}

function pathHash(folderHash: number, nameHash: number): number {
  return Math.imul(folderHash, 31) ^ nameHash;
}

const SPACE = 32;
const TAB = 9;
const TAB_COLUMNS = 4;
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

/** What was seen in a word so far, as bits. */
const LOWER_BEFORE = 1;
const HUMP = 2;
const UNDERSCORE_BEFORE = 4;
const INNER_UNDERSCORE = 8;
const LETTER = 16;
const LETTER_THEN_DIGIT = 32;

/** The next shape of a word, by its shape so far and the kind of the next character. */
const SHAPES: Uint8Array = Uint8Array.from({ length: 64 << 3 }, (_, index) =>
  nextShape(index >> 3, index & 7),
);

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

/** Gives equal hashes the same small number, counted from 0. Different texts with one hash count as the same. */
interface InternTable {
  numberOf(hash: number): number;
  size(): number;
}

/** An empty table; it grows as needed. */
export function createInternTable(): InternTable {
  let mask = 4095;
  // Hash and number are adjacent, for one memory access. Numbers are stored one higher, so that 0 is a free slot.
  let slots = new Int32Array((mask + 1) * 2);
  let size = 0;

  function slotOf(hash: number): number {
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (slots[slot * 2 + 1] !== 0 && slots[slot * 2] !== hash) slot = (slot + 1) & mask;
    return slot * 2;
  }

  function grow(): void {
    const old = slots;
    mask = mask * 4 + 3;
    slots = new Int32Array((mask + 1) * 2);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] === 0) continue;
      const slot = slotOf(old[at] ?? 0);
      slots[slot] = old[at] ?? 0;
      slots[slot + 1] = old[at + 1] ?? 0;
    }
  }

  return {
    numberOf(hash) {
      const slot = slotOf(hash);
      const known = slots[slot + 1] ?? 0;
      if (known !== 0) return known - 1;
      slots[slot] = hash;
      slots[slot + 1] = ++size;
      if (size * 2 > mask) grow();
      return size - 1;
    },
    size: () => size,
  };
}
