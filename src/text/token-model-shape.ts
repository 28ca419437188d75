import {
  DIGIT,
  FIRST_MARK,
  FIRST_SCRIPT,
  FIRST_UPPER,
  FIRST_WIDE_MARK,
  MARK_COUNT,
  NEWLINE,
  SCRIPTS,
  SPACE,
  scriptSymbol,
  TAB,
  WIDE_MARKS,
} from "./token-model-symbols.ts";

/**
 * The token model is an automaton. It follows how byte-pair tokenizers split text into words, numbers,
 * marks and blanks, one state a row; each step from a row over a symbol costs the sum of some named
 * constants. The shape is written here, the constants are fitted.
 */
export interface Step {
  readonly nextRow: number;
  /** Indexes of the constants that this step costs; mostly none or one. */
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

/** The constants that have a name of their own. The pairs and prefixes follow them. */
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

/** Where the costs of one letter behind another begin: 26 rows of 26. */
export const FIRST_LETTER_PAIR: number = NAMED_COSTS.length;
/** Where the costs of one capital behind another begin, in words that are not part of a longer one. */
export const FIRST_CAPITAL_PAIR: number = FIRST_LETTER_PAIR + LETTERS * LETTERS;
/** Where the costs of one mark behind another begin: a row for each first mark. */
export const FIRST_MARK_PAIR: number = FIRST_CAPITAL_PAIR + LETTERS * LETTERS;
/** Where the costs of a word behind a lone mark begin: lower case, then upper case. */
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
  if (row === LINE || row === LINE_AFTER_MARK) return { nextRow: LINE, costs: [LINE_MORE_COST] };
  if (row === BLANKS) return { nextRow: LINE, costs: [LINE_AFTER_BLANKS_COST] };
  if (row >= FIRST_LONE_MARK_ROW) return { nextRow: LINE_AFTER_MARK, costs: [LINE_AFTER_MARK_COST] };
  return { nextRow: LINE, costs: [LINE_COST] };
}

function blankStep(row: number, symbol: number): Step {
  if (row === ONE_SPACE || row === ONE_TAB) return { nextRow: BLANKS, costs: [BLANKS_COST] };
  if (row === BLANKS) return { nextRow: BLANKS, costs: [symbol === SPACE ? SPACE_MORE_COST : TAB_MORE_COST] };
  // A single blank is free: it becomes part of the word or mark behind it.
  return { nextRow: symbol === SPACE ? ONE_SPACE : ONE_TAB, costs: [] };
}

function digitStep(row: number): Step {
  // Numbers are split into groups of three digits.
  if (row >= FIRST_DIGIT_ROW && row < LAST_DIGIT_ROW) return { nextRow: row + 1, costs: [] };
  const afterBlank = row >= ONE_SPACE && row <= BLANKS;
  return {
    nextRow: FIRST_DIGIT_ROW,
    costs: afterBlank ? [DIGITS_COST, DIGITS_AFTER_BLANK_COST] : [DIGITS_COST],
  };
}

function markStep(row: number, mark: number): Step {
  if (row >= FIRST_LONE_MARK_ROW) {
    const before = (row - FIRST_LONE_MARK_ROW) % MARK_COUNT;
    return { nextRow: FIRST_MARK_RUN_ROW + mark, costs: [FIRST_MARK_PAIR + before * MARK_COUNT + mark] };
  }
  const cost = WIDE_MARK_COSTS[mark - (FIRST_WIDE_MARK - FIRST_MARK)] ?? MARK_COST;
  if (row === ONE_SPACE || row === BLANKS)
    return { nextRow: FIRST_MARK_RUN_ROW + mark, costs: [cost, MARK_AFTER_SPACE_COST] };
  return {
    nextRow: FIRST_LONE_MARK_ROW + mark,
    costs: row === ONE_TAB ? [cost, MARK_AFTER_TAB_COST] : [cost],
  };
}

function letterRow(row: number, symbol: number): number {
  if (symbol >= FIRST_SCRIPT) return FIRST_LETTER_ROW + symbol;
  const beginsWord = row < FIRST_LETTER_ROW || row >= FIRST_LONE_MARK_ROW;
  if (symbol < FIRST_UPPER) return (beginsWord ? FIRST_INITIAL_ROW : FIRST_LETTER_ROW) + symbol;
  // Capitals behind a digit or inside a word are mostly random text such as base64, elsewhere mostly words.
  const afterDigit = row >= FIRST_DIGIT_ROW && row <= LAST_DIGIT_ROW;
  const inCapitals = row >= FIRST_WORD_CAPITAL_ROW && row < FIRST_INITIAL_ROW;
  return inCapitals || (beginsWord && !afterDigit)
    ? FIRST_WORD_CAPITAL_ROW + symbol - FIRST_UPPER
    : FIRST_LETTER_ROW + symbol;
}

function letterCost(row: number, symbol: number): number {
  const isLower = symbol < FIRST_UPPER;
  if (row >= FIRST_MARK_RUN_ROW) return START_BARE_COST + (isLower ? 0 : 1);
  if (row >= FIRST_LONE_MARK_ROW)
    return FIRST_PREFIX + (isLower ? 0 : MARK_COUNT) + row - FIRST_LONE_MARK_ROW;
  if (row >= FIRST_INITIAL_ROW) return isLower ? SECOND_LETTER_COST : HUMP_COST;
  if (row >= FIRST_WORD_CAPITAL_ROW) return pairOf(row - FIRST_WORD_CAPITAL_ROW, symbol);
  if (row >= FIRST_LETTER_ROW) return innerLetterCost(row - FIRST_LETTER_ROW, symbol);
  return startCost(row) + (isLower ? 0 : 1);
}

/** The cost of a lower-case word that begins here; that of an upper-case one follows it. */
function startCost(row: number): number {
  if (row >= FIRST_DIGIT_ROW) return START_DIGIT_COST;
  if (row === ONE_TAB) return START_TAB_COST;
  return row === ONE_SPACE || row === BLANKS ? START_SPACE_COST : START_BARE_COST;
}

function innerLetterCost(before: number, symbol: number): number {
  if (before === LATIN) return LETTER_AFTER_LATIN_COST;
  if (before >= FIRST_SCRIPT) return LETTER_AFTER_SCRIPT_COST;
  if (symbol < FIRST_UPPER) return pairOf(before % LETTERS, symbol);
  return before < FIRST_UPPER ? HUMP_COST : CAPITAL_INSIDE_COST;
}

function pairOf(before: number, symbol: number): number {
  const first = symbol < FIRST_UPPER ? FIRST_LETTER_PAIR : FIRST_CAPITAL_PAIR;
  return first + before * LETTERS + (symbol % LETTERS);
}

function scriptCost(row: number, symbol: number): number {
  const script = symbol - FIRST_SCRIPT;
  if (row >= ONE_SPACE && row <= BLANKS) return FIRST_SPACED_SCRIPT_COST + script;
  if (row >= FIRST_LONE_MARK_ROW && row < FIRST_MARK_RUN_ROW) return FIRST_MARKED_SCRIPT_COST + script;
  if (row < FIRST_LETTER_ROW || row >= FIRST_MARK_RUN_ROW) return FIRST_BARE_SCRIPT_COST + script;
  if (row === FIRST_LETTER_ROW + HAN_RARE) {
    if (symbol === HAN_COMMON) return HAN_COMMON_AFTER_RARE_COST;
    if (symbol === HAN_RARE) return HAN_RARE_AFTER_RARE_COST;
  }
  return FIRST_NEXT_SCRIPT_COST + script;
}

function named(name: string): number {
  const index = NAMED_COSTS.indexOf(name);
  if (index < 0) throw new Error(`no cost is called ${name}; add it to NAMED_COSTS`);
  return index;
}

const LATIN: number = scriptSymbol("latin");
const HAN_COMMON: number = scriptSymbol("han-common");
const HAN_RARE: number = scriptSymbol("han-rare");
const START_BARE_COST: number = named("start-bare-lower");
const START_DIGIT_COST: number = named("start-digit-lower");
const START_SPACE_COST: number = named("start-space-lower");
const START_TAB_COST: number = named("start-tab-lower");
const HUMP_COST: number = named("hump");
const SECOND_LETTER_COST: number = named("second-letter");
const CAPITAL_INSIDE_COST: number = named("capital-inside");
const LETTER_AFTER_LATIN_COST: number = named("letter-after-latin");
const LETTER_AFTER_SCRIPT_COST: number = named("letter-after-script");
const MARK_COST: number = named("mark");
const MARK_AFTER_SPACE_COST: number = named("mark-after-space");
const MARK_AFTER_TAB_COST: number = named("mark-after-tab");
const WIDE_MARK_COSTS: readonly number[] = WIDE_MARKS.map((mark) => named(`mark-${mark}`));
const DIGITS_COST: number = named("digits");
const DIGITS_AFTER_BLANK_COST: number = named("digits-after-blank");
const BLANKS_COST: number = named("blanks");
const SPACE_MORE_COST: number = named("space-more");
const TAB_MORE_COST: number = named("tab-more");
const LINE_COST: number = named("line");
const LINE_MORE_COST: number = named("line-more");
const LINE_AFTER_BLANKS_COST: number = named("line-after-blanks");
const LINE_AFTER_MARK_COST: number = named("line-after-mark");
const HAN_COMMON_AFTER_RARE_COST: number = named("han-common-after-han-rare");
const HAN_RARE_AFTER_RARE_COST: number = named("han-rare-after-han-rare");
const FIRST_BARE_SCRIPT_COST: number = named(`bare-${SCRIPTS[0]}`);
const FIRST_SPACED_SCRIPT_COST: number = named(`spaced-${SCRIPTS[0]}`);
const FIRST_MARKED_SCRIPT_COST: number = named(`marked-${SCRIPTS[0]}`);
const FIRST_NEXT_SCRIPT_COST: number = named(`next-${SCRIPTS[0]}`);
