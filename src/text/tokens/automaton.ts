/** The fitted constants of the token model, in tokens. */
export interface TokenModel {
  /** In the order of `NAMED_COSTS`. */
  readonly named: readonly number[];
  /** The costs from `FIRST_LETTER_PAIR` on, one character each: see `PAIR_DIGITS`. */
  readonly pairs: string;
  /**
   * Ideographs that often share a token with their neighbor, as gaps between code points: `_` is 63 and continues the
   * number, any other digit ends it.
   */
  readonly commonHan: string;
  /** 95% of the held-out texts lie between these multiples of the estimate. */
  readonly intervals: Readonly<Record<"documented" | "calibrated", ErrorInterval>>;
}

export interface ErrorInterval {
  readonly low: number;
  readonly high: number;
}

/** The digits of `pairs`: each stands for its index times `PAIR_STEP_TOKENS`. */
export const PAIR_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
export const PAIR_STEP_TOKENS = 0.025;

/** How many symbols the token model tells apart. */
export const SYMBOL_COUNT = 108;

/** The scripts beyond ASCII letters, in the order of their symbols. */
export const SCRIPTS = [
  "latin",
  "cyrillic",
  "greek",
  "hebrew",
  "arabic",
  "indic",
  "thai",
  "kana",
  "han-common",
  "han-rare",
  "hangul",
  "other",
  "rare",
] as const;

/** The marks beyond ASCII punctuation, in the order of their symbols. */
export const WIDE_MARKS = [
  "control",
  "typographic",
  "cjk",
  "picture",
  "joiner",
  "high-surrogate",
  "low-surrogate",
] as const;

type Script = (typeof SCRIPTS)[number];
type WideMark = (typeof WIDE_MARKS)[number];

const ASCII_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

export const FIRST_LOWER = 0;
export const FIRST_UPPER = 26;
const FIRST_SCRIPT = 52;
export const FIRST_MARK: number = FIRST_SCRIPT + SCRIPTS.length;
const FIRST_WIDE_MARK: number = FIRST_MARK + ASCII_MARKS.length;
export const MARK_COUNT: number = ASCII_MARKS.length + WIDE_MARKS.length;
export const DIGIT: number = FIRST_MARK + MARK_COUNT;
export const SPACE: number = DIGIT + 1;
export const TAB: number = DIGIT + 2;
export const NEWLINE: number = DIGIT + 3;

/** Where the gaps of `commonHan` are counted from. */
export const FIRST_HAN = 0x4e00;

/** For each UTF-16 unit its symbol; `commonHan` as in the model. */
export function symbolTable(commonHan: string): Uint8Array {
  const table = new Uint8Array(65536).fill(scriptSymbol("rare"));
  table.fill(markSymbol("control"), 0, 0x80);
  for (let letter = 0; letter < 26; letter++) {
    table[97 + letter] = FIRST_LOWER + letter;
    table[65 + letter] = FIRST_UPPER + letter;
  }
  for (let digit = 48; digit < 58; digit++) table[digit] = DIGIT;
  for (let index = 0; index < ASCII_MARKS.length; index++)
    table[ASCII_MARKS.charCodeAt(index)] = FIRST_MARK + index;
  for (const [script, from, to] of SCRIPT_RANGES) table.fill(scriptSymbol(script), from, to + 1);
  for (const [mark, from, to] of MARK_RANGES) table.fill(markSymbol(mark), from, to + 1);
  let ideograph = FIRST_HAN;
  for (const digit of commonHan) {
    ideograph += PAIR_DIGITS.indexOf(digit);
    if (digit !== "_") table[ideograph++] = scriptSymbol("han-common");
  }
  for (const unit of BLANK_UNITS) table[unit] = TAB;
  table[0x20] = SPACE;
  table[0x0a] = NEWLINE;
  table[0x0d] = NEWLINE;
  return table;
}

/** The symbol of a script's letters. */
export function scriptSymbol(script: Script): number {
  return FIRST_SCRIPT + SCRIPTS.indexOf(script);
}

/** The symbol of a class of marks. */
export function markSymbol(mark: WideMark): number {
  return FIRST_WIDE_MARK + WIDE_MARKS.indexOf(mark);
}

const SCRIPT_RANGES: readonly (readonly [Script, number, number])[] = [
  ["latin", 0xaa, 0xaa],
  ["latin", 0xb5, 0xb5],
  ["latin", 0xba, 0xba],
  ["latin", 0xc0, 0x24f],
  ["latin", 0x1e00, 0x1eff],
  ["greek", 0x370, 0x3ff],
  ["greek", 0x1f00, 0x1fff],
  ["cyrillic", 0x400, 0x52f],
  ["other", 0x530, 0x58f],
  ["hebrew", 0x590, 0x5ff],
  ["arabic", 0x600, 0x6ff],
  ["arabic", 0x750, 0x77f],
  ["indic", 0x900, 0xdff],
  ["thai", 0xe00, 0xe7f],
  ["other", 0x1000, 0x10ff],
  ["other", 0x1780, 0x17ff],
  ["other", 0x1c90, 0x1cbf],
  ["kana", 0x3041, 0x30ff],
  ["han-rare", 0x3400, 0x4dbf],
  ["han-rare", 0x4e00, 0x9fff],
  ["hangul", 0xac00, 0xd7a3],
  ["han-rare", 0xf900, 0xfaff],
];

const MARK_RANGES: readonly (readonly [WideMark, number, number])[] = [
  ["control", 0x80, 0x9f],
  ["typographic", 0xa1, 0xa9],
  ["typographic", 0xab, 0xb4],
  ["typographic", 0xb6, 0xb9],
  ["typographic", 0xbb, 0xbf],
  ["typographic", 0xd7, 0xd7],
  ["typographic", 0xf7, 0xf7],
  ["joiner", 0x300, 0x36f],
  ["joiner", 0x200b, 0x200f],
  ["typographic", 0x2010, 0x2027],
  ["joiner", 0x202a, 0x202e],
  ["typographic", 0x2030, 0x205e],
  ["joiner", 0x2060, 0x206f],
  ["typographic", 0x2070, 0x20ff],
  ["picture", 0x2100, 0x2bff],
  ["cjk", 0x3001, 0x303f],
  ["cjk", 0x30fb, 0x30fb],
  ["picture", 0x3200, 0x33ff],
  ["high-surrogate", 0xd800, 0xdbff],
  ["low-surrogate", 0xdc00, 0xdfff],
  ["picture", 0xe000, 0xf8ff],
  ["joiner", 0xfe00, 0xfe0f],
  ["cjk", 0xfe10, 0xfe6f],
  ["joiner", 0xfeff, 0xfeff],
  ["cjk", 0xff01, 0xff0f],
  ["cjk", 0xff1a, 0xff20],
  ["cjk", 0xff3b, 0xff40],
  ["cjk", 0xff5b, 0xff65],
  ["picture", 0xfff0, 0xffff],
];

const BLANK_UNITS: readonly number[] = [
  0x09, 0x0b, 0x0c, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
  0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
];

/**
 * The token model is a finite automaton that follows how byte-pair tokenizers split text into words, numbers, marks and
 * blanks. Each state is a row; a step from a row over a symbol costs the sum of some constants. The steps are written
 * here, the constants (`model.ts`) are fitted.
 */
interface Step {
  readonly nextRow: number;
  /** Indexes of the constants that this step adds; mostly none or one. */
  readonly costs: readonly number[];
}

const LETTERS = 26;
const ONE_SPACE = 1;
const ONE_TAB = 2;
const BLANKS = 3;
const LINE = 4;
const LINE_AFTER_MARK = 5;
const FIRST_DIGIT_ROW = 6;
const LAST_DIGIT_ROW = 8;
const FIRST_LETTER_ROW = 9;
const FIRST_WORD_CAPITAL_ROW: number = FIRST_LETTER_ROW + FIRST_MARK;
const FIRST_INITIAL_ROW: number = FIRST_WORD_CAPITAL_ROW + LETTERS;
const FIRST_LONE_MARK_ROW: number = FIRST_INITIAL_ROW + LETTERS;
const FIRST_MARK_RUN_ROW: number = FIRST_LONE_MARK_ROW + MARK_COUNT;

/** How many rows the automaton has; row 0 is where a text begins. */
export const ROW_COUNT: number = FIRST_MARK_RUN_ROW + MARK_COUNT;

/** Constants with a name. The pairs and prefixes follow them in the list. */
export const NAMED_COSTS: readonly string[] = [
  "start-bare-lower",
  "start-bare-upper",
  "start-digit-lower",
  "start-digit-upper",
  "start-space-lower",
  "start-space-upper",
  "start-tab-lower",
  "start-tab-upper",
  "hump",
  "second-letter",
  "capital-inside",
  "letter-after-latin",
  "letter-after-script",
  "mark",
  "mark-after-space",
  "mark-after-tab",
  "digits",
  "digits-after-blank",
  "blanks",
  "space-more",
  "tab-more",
  "line",
  "line-more",
  "line-after-blanks",
  "line-after-mark",
  "han-common-after-han-rare",
  "han-rare-after-han-rare",
  ...WIDE_MARKS.map((mark) => `mark-${mark}`),
  ...["bare", "spaced", "marked", "next"].flatMap((place) => SCRIPTS.map((script) => `${place}-${script}`)),
];

/** Index of the costs of a letter after another: 26 rows of 26. */
export const FIRST_LETTER_PAIR: number = NAMED_COSTS.length;
/** Index of the costs of a capital after another, in words that are not part of a longer one. */
export const FIRST_CAPITAL_PAIR: number = FIRST_LETTER_PAIR + LETTERS * LETTERS;
/** Index of the costs of a mark after another: one row per first mark. */
export const FIRST_MARK_PAIR: number = FIRST_CAPITAL_PAIR + LETTERS * LETTERS;
/** Index of the costs of a word after a single mark: lower case, then upper case. */
export const FIRST_PREFIX: number = FIRST_MARK_PAIR + MARK_COUNT * MARK_COUNT;
export const COST_COUNT: number = FIRST_PREFIX + 2 * MARK_COUNT;

/** The step from a row over a symbol. */
export function stepOf(row: number, symbol: number): Step {
  if (symbol === NEWLINE) return lineStep(row);
  if (symbol === SPACE || symbol === TAB) return blankStep(row, symbol);
  if (symbol === DIGIT) return digitStep(row);
  if (symbol >= FIRST_MARK) return markStep(row, symbol - FIRST_MARK);
  const cost = symbol < FIRST_SCRIPT ? letterCost(row, symbol) : scriptCost(row, symbol);
  return { nextRow: letterRow(row, symbol), costs: [cost] };
}

function lineStep(row: number): Step {
  if (row === LINE || row === LINE_AFTER_MARK) return { nextRow: LINE, costs: [named("line-more")] };
  if (row === BLANKS) return { nextRow: LINE, costs: [named("line-after-blanks")] };
  if (row >= FIRST_LONE_MARK_ROW) return { nextRow: LINE_AFTER_MARK, costs: [named("line-after-mark")] };
  return { nextRow: LINE, costs: [named("line")] };
}

function blankStep(row: number, symbol: number): Step {
  if (row === ONE_SPACE || row === ONE_TAB) return { nextRow: BLANKS, costs: [named("blanks")] };
  if (row === BLANKS)
    return { nextRow: BLANKS, costs: [symbol === SPACE ? named("space-more") : named("tab-more")] };
  // A single blank is free: tokenizers join it to the next word or mark.
  return { nextRow: symbol === SPACE ? ONE_SPACE : ONE_TAB, costs: [] };
}

function digitStep(row: number): Step {
  // Numbers are split into groups of three digits.
  if (row >= FIRST_DIGIT_ROW && row < LAST_DIGIT_ROW) return { nextRow: row + 1, costs: [] };
  const afterBlank = row >= ONE_SPACE && row <= BLANKS;
  return {
    nextRow: FIRST_DIGIT_ROW,
    costs: afterBlank ? [named("digits"), named("digits-after-blank")] : [named("digits")],
  };
}

function markStep(row: number, mark: number): Step {
  if (row >= FIRST_LONE_MARK_ROW) {
    const before = (row - FIRST_LONE_MARK_ROW) % MARK_COUNT;
    return { nextRow: FIRST_MARK_RUN_ROW + mark, costs: [FIRST_MARK_PAIR + before * MARK_COUNT + mark] };
  }
  const wide = WIDE_MARKS[mark - (FIRST_WIDE_MARK - FIRST_MARK)];
  const cost = named(wide === undefined ? "mark" : `mark-${wide}`);
  if (row === ONE_SPACE || row === BLANKS)
    return { nextRow: FIRST_MARK_RUN_ROW + mark, costs: [cost, named("mark-after-space")] };
  return {
    nextRow: FIRST_LONE_MARK_ROW + mark,
    costs: row === ONE_TAB ? [cost, named("mark-after-tab")] : [cost],
  };
}

function letterRow(row: number, symbol: number): number {
  if (symbol >= FIRST_SCRIPT) return FIRST_LETTER_ROW + symbol;
  const beginsWord = row < FIRST_LETTER_ROW || row >= FIRST_LONE_MARK_ROW;
  if (symbol < FIRST_UPPER) return (beginsWord ? FIRST_INITIAL_ROW : FIRST_LETTER_ROW) + symbol;
  // Capitals after a digit or inside a word are mostly random text such as base64; elsewhere they are mostly words.
  const afterDigit = row >= FIRST_DIGIT_ROW && row <= LAST_DIGIT_ROW;
  const inCapitals = row >= FIRST_WORD_CAPITAL_ROW && row < FIRST_INITIAL_ROW;
  return inCapitals || (beginsWord && !afterDigit)
    ? FIRST_WORD_CAPITAL_ROW + symbol - FIRST_UPPER
    : FIRST_LETTER_ROW + symbol;
}

function letterCost(row: number, symbol: number): number {
  const isLower = symbol < FIRST_UPPER;
  const letterCase = isLower ? "lower" : "upper";
  if (row >= FIRST_MARK_RUN_ROW) return named(`start-bare-${letterCase}`);
  if (row >= FIRST_LONE_MARK_ROW)
    return FIRST_PREFIX + (isLower ? 0 : MARK_COUNT) + row - FIRST_LONE_MARK_ROW;
  if (row >= FIRST_INITIAL_ROW) return isLower ? named("second-letter") : named("hump");
  if (row >= FIRST_WORD_CAPITAL_ROW) return pairOf(row - FIRST_WORD_CAPITAL_ROW, symbol);
  if (row >= FIRST_LETTER_ROW) return innerLetterCost(row - FIRST_LETTER_ROW, symbol);
  if (row >= FIRST_DIGIT_ROW) return named(`start-digit-${letterCase}`);
  if (row === ONE_TAB) return named(`start-tab-${letterCase}`);
  return named(`start-${row === ONE_SPACE || row === BLANKS ? "space" : "bare"}-${letterCase}`);
}

function innerLetterCost(before: number, symbol: number): number {
  if (before === LATIN) return named("letter-after-latin");
  if (before >= FIRST_SCRIPT) return named("letter-after-script");
  if (symbol < FIRST_UPPER) return pairOf(before % LETTERS, symbol);
  return before < FIRST_UPPER ? named("hump") : named("capital-inside");
}

function pairOf(before: number, symbol: number): number {
  const first = symbol < FIRST_UPPER ? FIRST_LETTER_PAIR : FIRST_CAPITAL_PAIR;
  return first + before * LETTERS + (symbol % LETTERS);
}

function scriptCost(row: number, symbol: number): number {
  const script = SCRIPTS[symbol - FIRST_SCRIPT];
  if (row >= ONE_SPACE && row <= BLANKS) return named(`spaced-${script}`);
  if (row >= FIRST_LONE_MARK_ROW && row < FIRST_MARK_RUN_ROW) return named(`marked-${script}`);
  if (row < FIRST_LETTER_ROW || row >= FIRST_MARK_RUN_ROW) return named(`bare-${script}`);
  if (row === FIRST_LETTER_ROW + HAN_RARE) {
    if (symbol === HAN_COMMON) return named("han-common-after-han-rare");
    if (symbol === HAN_RARE) return named("han-rare-after-han-rare");
  }
  return named(`next-${script}`);
}

/** Where a named cost stands in the list of costs. */
function named(name: string): number {
  const index = COST_INDEX.get(name);
  if (index === undefined) throw new Error(`no cost is called ${name}; add it to NAMED_COSTS`);
  return index;
}

const COST_INDEX: ReadonlyMap<string, number> = new Map(NAMED_COSTS.map((name, index) => [name, index]));
const LATIN: number = scriptSymbol("latin");
const HAN_COMMON: number = scriptSymbol("han-common");
const HAN_RARE: number = scriptSymbol("han-rare");
