import { describe, expect, it } from "vitest";
import { ideographGaps } from "../../../scripts/token-model/model-source.ts";
import {
  COST_COUNT,
  DIGIT,
  FIRST_LETTER_PAIR,
  FIRST_LOWER,
  FIRST_MARK,
  FIRST_UPPER,
  markSymbol,
  NAMED_COSTS,
  NEWLINE,
  PAIR_DIGITS,
  PAIR_STEP_TOKENS,
  ROW_COUNT,
  SCRIPTS,
  SPACE,
  SYMBOL_COUNT,
  scriptSymbol,
  stepOf,
  symbolTable,
  TAB,
  WIDE_MARKS,
} from "./automaton.ts";
import { createTokenCounter } from "./estimate-tokens.ts";
import { TOKEN_MODEL } from "./model.ts";

/** A counter for which only the costs named here are not zero. */
function counterOf(costs: Readonly<Record<string, number>>): (text: string) => number {
  return createTokenCounter({
    named: NAMED_COSTS.map((name) => costs[name] ?? 0),
    pairs: "0".repeat(COST_COUNT - FIRST_LETTER_PAIR),
    commonHan: ideographGaps("的"),
    intervals: TOKEN_MODEL.intervals,
  });
}

describe("createTokenCounter", () => {
  it.each([
    { text: "7", groups: 1 },
    { text: "123", groups: 1 },
    { text: "1234", groups: 2 },
    { text: "1234567890", groups: 4 },
    { text: "12 345 6789", groups: 4 },
  ])("splits the digits of $text into $groups groups of three", ({ text, groups }) => {
    expect(counterOf({ digits: 1 })(text)).toBe(groups);
  });

  it.each([
    { text: "getUserName", starts: 1, humps: 2 },
    { text: "get user name", starts: 3, humps: 0 },
    { text: "HTTPServer", starts: 1, humps: 0 },
    { text: "a1b2c3", starts: 3, humps: 0 },
  ])("finds the words of $text", ({ text, starts, humps }) => {
    const start = ["bare", "digit", "space"].flatMap((place) => [
      [`start-${place}-lower`, 1],
      [`start-${place}-upper`, 1],
    ]);
    expect(counterOf(Object.fromEntries(start))(text)).toBe(starts);
    expect(counterOf({ hump: 1 })(text)).toBe(humps);
  });

  it.each([
    { text: "a b", runs: 0 },
    { text: "a  b", runs: 1 },
    { text: `a${" ".repeat(60)}b`, runs: 1 },
    { text: "\t\t\tb   c", runs: 2 },
  ])("takes a run of blanks for one, and a single blank for none: $text", ({ text, runs }) => {
    expect(counterOf({ blanks: 1 })(text)).toBe(runs);
  });

  it("lets the end of a line belong to the mark before it", () => {
    expect(counterOf({ line: 1 })("a;\nb;\n")).toBe(0);
    expect(counterOf({ line: 1 })("a\nb\n\n\n")).toBe(2);
  });
});

describe("the token model", () => {
  it("has a step from every row over every symbol, to a row that exists, at costs that exist", () => {
    const broken: string[] = [];
    for (let row = 0; row < ROW_COUNT; row++) {
      for (let symbol = 0; symbol < SYMBOL_COUNT; symbol++) {
        const { nextRow, costs } = stepOf(row, symbol);
        const exists =
          nextRow > 0 && nextRow < ROW_COUNT && costs.every((cost) => cost >= 0 && cost < COST_COUNT);
        if (!exists) broken.push(`${row}, ${symbol}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("knows a symbol for every UTF-16 unit", () => {
    expect(symbolTable("").every((symbol) => symbol < SYMBOL_COUNT)).toBe(true);
  });

  it("has constants for exactly this shape, none of them negative", () => {
    const { named, pairs } = TOKEN_MODEL;
    expect(named).toHaveLength(NAMED_COSTS.length);
    expect(named.every((cost) => cost >= 0)).toBe(true);
    expect(pairs).toHaveLength(COST_COUNT - FIRST_LETTER_PAIR);
    for (const digit of pairs) expect(PAIR_DIGITS).toContain(digit);
  });
});

describe("symbolTable", () => {
  const table = symbolTable(ideographGaps("的"));
  const symbolOf = (character: string) => table[character.charCodeAt(0)];

  it.each([
    ["a", FIRST_LOWER],
    ["z", FIRST_LOWER + 25],
    ["A", FIRST_UPPER],
    ["Z", FIRST_UPPER + 25],
    ["0", DIGIT],
    ["9", DIGIT],
    ["!", FIRST_MARK],
    ["~", FIRST_MARK + 31],
    [" ", SPACE],
    ["\t", TAB],
    ["\u00a0", TAB],
    ["\n", NEWLINE],
    ["\r", NEWLINE],
    ["\0", markSymbol("control")],
    ["\u007f", markSymbol("control")],
    ["\u009f", markSymbol("control")],
    ["\u00c0", scriptSymbol("latin")],
    ["\u024f", scriptSymbol("latin")],
    ["\u0250", scriptSymbol("rare")],
    ["的", scriptSymbol("han-common")],
    ["龘", scriptSymbol("han-rare")],
    ["\ud7a3", scriptSymbol("hangul")],
    ["\uffff", markSymbol("picture")],
  ])("%j is symbol %i", (character, symbol) => {
    expect(symbolOf(character)).toBe(symbol);
  });

  it("gives no letter and no digit to what stands beside them", () => {
    for (const character of "@[`{/:") {
      expect(symbolOf(character)).toBeGreaterThanOrEqual(FIRST_MARK);
      expect(symbolOf(character)).toBeLessThan(DIGIT);
    }
  });

  it("has no two classes with one symbol", () => {
    const symbols = [...SCRIPTS.map(scriptSymbol), ...WIDE_MARKS.map(markSymbol)];
    expect(new Set(symbols).size).toBe(symbols.length);
    expect(Math.max(...symbols)).toBe(DIGIT - 1);
    expect(Math.min(...symbols)).toBe(FIRST_UPPER + 26);
  });
});

it("reads the cost of a pair from its digit", () => {
  const before = FIRST_LETTER_PAIR + 26 + 2;
  const pairs = `${"0".repeat(before - FIRST_LETTER_PAIR)}${PAIR_DIGITS[40]}`.padEnd(
    COST_COUNT - FIRST_LETTER_PAIR,
    "0",
  );
  const model = { ...TOKEN_MODEL, named: NAMED_COSTS.map(() => 0), pairs };
  expect(createTokenCounter(model)("abc")).toBeCloseTo(40 * PAIR_STEP_TOKENS, 3);
  expect(createTokenCounter(model)("acb")).toBe(0);
});
