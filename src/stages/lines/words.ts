import { createInternTable, type InternTable, numberOf } from "./intern-table.ts";
import type { FillSource } from "./read-call.ts";
import type { FillRows } from "./rows.ts";

/** The words of all rows as small numbers, how they are used, and which rows have the same line. */
export interface InternedWords {
  /** Row `r` has the words from `firstWord[r]` up to `firstWord[r + 1]`. */
  readonly words: Int32Array;
  readonly firstWord: Int32Array;
  /** Per word: 1 for an identifier, which a model cannot guess: `fooBar`, `foo_bar`, `a1b2c3d4`, `some/path`. */
  readonly isIdentifier: Uint8Array;
  /**
   * Per word four numbers: count, how much agent and user wrote it lately, number of texts with it, and the second
   * number weighted down for frequent words.
   */
  readonly use: Float64Array;
  readonly wordCount: number;
  /** The words of the task. */
  readonly directed: Int32Array;
  /** Per row: a number that rows with the same line share, without line numbers and indentation. */
  readonly lineOf: Int32Array;
  readonly lineCount: number;
  /** Per row: the columns of its indentation. */
  readonly indent: Int32Array;
  /** Per row: 1 for a comment or a decorator, which belongs to what follows. */
  readonly isComment: Uint8Array;
}

/** Reads every character of all rows, and of the task, once. */
export function internWords({ parts, segments, rows }: FillRows, task = ""): InternedWords {
  const lines = createInternTable();
  const list: WordList = {
    table: createInternTable(),
    words: new Int32Array(1 << 14),
    used: 0,
    isIdentifier: new Uint8Array(1 << 12),
    use: new Float64Array(1 << 14),
    text: 0,
    counts: 1,
    fresh: 0,
    from: 0,
    to: 0,
  };
  const firstWord = new Int32Array(rows.count + 1);
  const lineOf = new Int32Array(rows.count);
  const indent = new Int32Array(rows.count);
  const isComment = new Uint8Array(rows.count);
  for (const { source, partNumber, text, firstRow, endRow } of segments) {
    list.text++;
    // A user's request is valid until it is done, so it does not age.
    const results = source === "user" ? 0 : (parts[partNumber]?.callsSince ?? 0);
    list.fresh = SHOWN_SOURCES.has(source) ? 0 : Math.exp(-results / FRESH_RESULTS);
    for (let row = firstRow; row < endRow; row++) {
      firstWord[row] = list.used;
      const end = rows.end[row] ?? 0;
      let at = rows.bodyStart[row] ?? 0;
      let columns = 0;
      let unit = SPACE;
      for (; at < end; at++) {
        unit = text.charCodeAt(at);
        if (unit > SPACE) break;
        columns += unit === TAB ? TAB_COLUMNS : 1;
      }
      indent[row] = columns;
      if (unit === 0x2f || unit === 0x23 || unit === 0x2a || unit === 0x40) isComment[row] = 1;
      list.from = at;
      list.to = end;
      // Lines that consist of a number only are all treated as different.
      lineOf[row] = at < end ? numberOf(lines, readLine(list, text)) : lines.size++;
    }
  }
  firstWord[rows.count] = list.used;
  list.counts = 0;
  list.fresh = 0;
  list.from = 0;
  list.to = task.length;
  readLine(list, task);
  const directed = list.words.subarray(firstWord[rows.count], list.used);
  const { table, words, isIdentifier, use } = list;
  // The task counts as just written. A word of it that few rows contain tells which rows it is about.
  for (const word of new Set(directed))
    use[4 * word + 1] = (use[4 * word + 1] ?? 0) + ((use[4 * word] ?? 0) <= FEW_USES ? ASKED : 1);
  for (let at = 0; at < 4 * table.size; at += 4)
    use[at + 3] = Math.min(MAX_ACTIVITY, use[at + 1] ?? 0) / Math.sqrt(use[at] ?? 1);
  const counts = { wordCount: table.size, lineCount: lines.size };
  return { words, firstWord, isIdentifier, use, directed, lineOf, indent, isComment, ...counts };
}

/** Activity of a word that the task asks about. */
export const ASKED = 1e6;

/** The most rows that may contain such a word. */
const FEW_USES = 4;

/** The upper bound of the activity of a word and of a row. */
export const MAX_ACTIVITY = 4;

/** What tools printed, as opposed to what agent and user wrote. */
const SHOWN_SOURCES: ReadonlySet<FillSource> = new Set(["read", "search", "output"]);

/** After this many results, the weight of a word that the agent wrote has fallen to a third. */
const FRESH_RESULTS = 30;
const MIN_WORD_CHARS = 3;
const MIN_NAME_CHARS = 6;
const MIN_MIXED_CHARS = 8;
const MIN_PATH_CHARS = 5;
const MIN_DIGEST_CHARS = 20;

// Hashes are signed: a number beyond 31 bits would not stay in a register.
const SEED: number = 0x811c9dc5 | 0;
const PRIME = 0x01000193;

/** The words read so far, and what is read next. */
interface WordList {
  readonly table: InternTable;
  words: Int32Array;
  used: number;
  isIdentifier: Uint8Array;
  use: Float64Array;
  /** The number of the current text. */
  text: number;
  /** How much each word of the current text adds to count and activity. */
  counts: number;
  fresh: number;
  from: number;
  to: number;
}

/** A copy of an array with room for twice as much. */
function doubled<T extends Int32Array | Uint8Array | Float64Array>(
  array: T,
  Type: new (length: number) => T,
): T {
  const larger = new Type(array.length * 2);
  larger.set(array);
  return larger;
}

/** Adds a word; gives its number. */
function add(list: WordList, hash: number): number {
  const word = numberOf(list.table, hash);
  if (word >= list.isIdentifier.length) {
    list.isIdentifier = doubled(list.isIdentifier, Uint8Array);
    list.use = doubled(list.use, Float64Array);
  }
  if (list.used >= list.words.length) list.words = doubled(list.words, Int32Array);
  list.words[list.used++] = word;
  const { use } = list;
  const at = 4 * word;
  use[at] = (use[at] ?? 0) + list.counts;
  use[at + 1] = (use[at + 1] ?? 0) + list.fresh;
  // While reading, the last number is the last text with this word.
  if (use[at + 3] !== list.text) {
    use[at + 2] = (use[at + 2] ?? 0) + 1;
    use[at + 3] = list.text;
  }
  return word;
}

function addPath(list: WordList, hash: number, isOpaque: boolean): void {
  const word = add(list, hash);
  if (!isOpaque) list.isIdentifier[word] = 1;
}

/** Adds the words of a line, and the last two names of each path as one more word; gives the hash of the line. */
function readLine(list: WordList, text: string): number {
  const { from, to } = list;
  let lineHash = SEED;
  let nameHash = SEED;
  let folderHash = SEED;
  let slashes = 0;
  let pathStart = from;
  let isOpaque = false;
  let at = from;
  while (at < to) {
    let unit = text.charCodeAt(at);
    let kind = KINDS[unit] ?? 0;
    if (kind >= UNDERSCORE) {
      const wordStart = at;
      let wordHash = SEED;
      let kinds = 0;
      do {
        wordHash = Math.imul(wordHash ^ unit, PRIME);
        kinds |= 1 << kind;
        if (++at === to) break;
        unit = text.charCodeAt(at);
        kind = KINDS[unit] ?? 0;
      } while (kind >= UNDERSCORE);
      lineHash = Math.imul(lineHash ^ wordHash, PRIME);
      nameHash = Math.imul(nameHash ^ wordHash, PRIME);
      const wordChars = at - wordStart;
      isOpaque = wordChars >= MIN_DIGEST_CHARS && isHexadecimal(text, wordStart, at);
      if (wordChars >= MIN_WORD_CHARS && (kinds & LETTERS) !== 0) {
        const known = list.table.size;
        const word = add(list, wordHash);
        if (word === known && kinds !== ALL_LOWER && !isOpaque && isName(text, wordStart, at))
          list.isIdentifier[word] = 1;
      }
      if (at === to) break;
    }
    lineHash = Math.imul(lineHash ^ unit, PRIME);
    if (kind === SLASH) {
      slashes++;
      folderHash = nameHash;
      nameHash = SEED;
    } else if (kind === PATH_SIGN) nameHash = Math.imul(nameHash ^ unit, PRIME);
    else {
      if (slashes > 0) {
        if (at - pathStart >= MIN_PATH_CHARS && nameHash !== SEED)
          addPath(list, Math.imul(folderHash, 31) ^ nameHash, isOpaque);
        slashes = 0;
        folderHash = SEED;
      }
      pathStart = at + 1;
      nameHash = SEED;
    }
    at++;
  }
  if (slashes > 0 && to - pathStart >= MIN_PATH_CHARS && nameHash !== SEED)
    addPath(list, Math.imul(folderHash, 31) ^ nameHash, isOpaque);
  return lineHash;
}

/** True for a digest such as a Git hash: unique, but never needed again. */
function isHexadecimal(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at) | 32;
    if (!((unit >= 48 && unit <= 57) || (unit >= 97 && unit <= 102))) return false;
  }
  return true;
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

/** The kind of each character; 0 ends words and paths. */
const KINDS: Uint8Array = new Uint8Array(0x10000)
  .fill(DIGIT, 48, 58)
  .fill(UPPER, 65, 91)
  .fill(LOWER, 97, 123);

for (const unit of [43, 45, 46, 64]) KINDS[unit] = PATH_SIGN;

KINDS[47] = SLASH;

KINDS[95] = UNDERSCORE;

const ALL_LOWER: number = 1 << LOWER;
const LETTERS: number = ALL_LOWER | (1 << UPPER);

/** The start of the file name that ends here. */
export function nameStart(text: string, end: number): number {
  let start = end;
  while (start > 0 && isInName(text.charCodeAt(start - 1))) start--;
  return start;
}

function isInName(unit: number): boolean {
  const kind = KINDS[unit] ?? 0;
  return kind !== 0 && kind !== SLASH;
}

/** True for a word that a model cannot guess: with a hump or an inner underscore, or with a digit behind a letter. */
function isName(text: string, from: number, to: number): boolean {
  const chars = to - from;
  if (chars < MIN_NAME_CHARS) return false;
  let before = 0;
  for (let at = from; at < to; at++) {
    const kind = KINDS[text.charCodeAt(at)] ?? 0;
    if (before === 0 && kind === UNDERSCORE) continue;
    if (kind === UPPER && (before === LOWER || before === DIGIT)) return true;
    if (kind !== UNDERSCORE && before === UNDERSCORE) return true;
    if (kind === DIGIT && before > DIGIT && chars >= MIN_MIXED_CHARS) return true;
    before = kind;
  }
  return false;
}
