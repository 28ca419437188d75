import {
  DIGIT,
  FIRST_MARK,
  FIRST_SCRIPT,
  FIRST_UPPER,
  FIRST_WIDE_MARK,
  MARK_COUNT,
  NEWLINE,
  SCRIPTS,
  type Script,
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
  return { nextRow: letterRow(row, symbol), costs: letterCosts(row, symbol) };
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
    return { nextRow: BLANKS, costs: [named(symbol === SPACE ? "space-more" : "tab-more")] };
  // A single blank is free: it becomes part of the word or mark behind it.
  return { nextRow: symbol === SPACE ? ONE_SPACE : ONE_TAB, costs: [] };
}

function digitStep(row: number): Step {
  // Numbers are split into groups of three digits.
  if (row >= FIRST_DIGIT_ROW && row < LAST_DIGIT_ROW) return { nextRow: row + 1, costs: [] };
  const afterBlank = row === ONE_SPACE || row === ONE_TAB || row === BLANKS;
  return {
    nextRow: FIRST_DIGIT_ROW,
    costs: afterBlank ? [named("digits"), named("digits-after-blank")] : [named("digits")],
  };
}

function markStep(row: number, mark: number): Step {
  const runRow = FIRST_MARK_RUN_ROW + mark;
  if (row >= FIRST_LONE_MARK_ROW) {
    const first = (row - FIRST_LONE_MARK_ROW) % MARK_COUNT;
    return { nextRow: runRow, costs: [FIRST_MARK_PAIR + first * MARK_COUNT + mark] };
  }
  const wide = WIDE_MARKS[mark - (FIRST_WIDE_MARK - FIRST_MARK)];
  const costs = [wide === undefined ? named("mark") : named(`mark-${wide}`)];
  if (row === ONE_SPACE || row === BLANKS)
    return { nextRow: runRow, costs: [...costs, named("mark-after-space")] };
  if (row === ONE_TAB) costs.push(named("mark-after-tab"));
  return { nextRow: FIRST_LONE_MARK_ROW + mark, costs };
}

function letterRow(row: number, symbol: number): number {
  const isCapital = symbol >= FIRST_UPPER && symbol < FIRST_SCRIPT;
  if (symbol < FIRST_UPPER && (row < FIRST_LETTER_ROW || row >= FIRST_LONE_MARK_ROW))
    return FIRST_INITIAL_ROW + symbol;
  // Capitals behind a digit or inside a word are mostly random text such as base64, elsewhere mostly words.
  const insideWord =
    (row >= FIRST_DIGIT_ROW && row < FIRST_WORD_CAPITAL_ROW) ||
    (row >= FIRST_INITIAL_ROW && row < FIRST_LONE_MARK_ROW);
  return isCapital && !insideWord ? FIRST_WORD_CAPITAL_ROW + symbol - FIRST_UPPER : FIRST_LETTER_ROW + symbol;
}

function letterCosts(row: number, symbol: number): readonly number[] {
  const script = SCRIPTS[symbol - FIRST_SCRIPT];
  return script === undefined ? asciiLetterCosts(row, symbol) : scriptCosts(row, script);
}

function asciiLetterCosts(row: number, symbol: number): readonly number[] {
  const letterCase = symbol < FIRST_UPPER ? "lower" : "upper";
  if (row >= FIRST_MARK_RUN_ROW) return [named(`start-bare-${letterCase}`)];
  if (row >= FIRST_LONE_MARK_ROW)
    return [FIRST_PREFIX + (letterCase === "lower" ? 0 : MARK_COUNT) + row - FIRST_LONE_MARK_ROW];
  if (row >= FIRST_INITIAL_ROW) return [named(letterCase === "lower" ? "second-letter" : "hump")];
  if (row >= FIRST_WORD_CAPITAL_ROW) return [pairOf(row - FIRST_WORD_CAPITAL_ROW, symbol)];
  if (row >= FIRST_LETTER_ROW) return innerLetterCosts(row - FIRST_LETTER_ROW, symbol);
  if (row >= FIRST_DIGIT_ROW) return [named(`start-digit-${letterCase}`)];
  if (row === ONE_TAB) return [named(`start-tab-${letterCase}`)];
  return [named(`start-${row === ONE_SPACE || row === BLANKS ? "space" : "bare"}-${letterCase}`)];
}

function innerLetterCosts(before: number, symbol: number): readonly number[] {
  if (before === scriptSymbol("latin")) return [named("letter-after-latin")];
  if (before >= FIRST_SCRIPT) return [named("letter-after-script")];
  if (before < FIRST_UPPER && symbol >= FIRST_UPPER) return [named("hump")];
  return [symbol >= FIRST_UPPER ? named("capital-inside") : pairOf(before % LETTERS, symbol)];
}

function pairOf(before: number, symbol: number): number {
  const first = symbol < FIRST_UPPER ? FIRST_LETTER_PAIR : FIRST_CAPITAL_PAIR;
  return first + before * LETTERS + (symbol % LETTERS);
}

function scriptCosts(row: number, script: Script): readonly number[] {
  if (row === ONE_SPACE || row === ONE_TAB || row === BLANKS) return [named(`spaced-${script}`)];
  if (row >= FIRST_LONE_MARK_ROW && row < FIRST_MARK_RUN_ROW) return [named(`marked-${script}`)];
  if (row < FIRST_LETTER_ROW || row >= FIRST_MARK_RUN_ROW) return [named(`bare-${script}`)];
  const afterRare = row === FIRST_LETTER_ROW + scriptSymbol("han-rare");
  const isHan = script === "han-common" || script === "han-rare";
  return [named(afterRare && isHan ? `${script}-after-han-rare` : `next-${script}`)];
}

const INDEX_OF_NAME: ReadonlyMap<string, number> = new Map(NAMED_COSTS.map((name, index) => [name, index]));

function named(name: string): number {
  const index = INDEX_OF_NAME.get(name);
  if (index === undefined) throw new Error(`no cost is called ${name}; add it to NAMED_COSTS`);
  return index;
}
