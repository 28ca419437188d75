import { describe, expect, it } from "vitest";
import { TOKEN_MODEL } from "./token-model.ts";
import { COST_COUNT, NAMED_COSTS, ROW_COUNT, stepOf } from "./token-model-shape.ts";
import { MARK_COUNT, SYMBOL_COUNT, symbolTable } from "./token-model-symbols.ts";
import { createTokenCounter, PAIR_DIGITS } from "./token-model-tables.ts";

/** A counter for which only the costs named here are not zero. */
function counterOf(named: Readonly<Record<string, number>>): (text: string) => number {
  const zeros = (lines: number, width: number): readonly string[] =>
    Array.from({ length: lines }, () => "0".repeat(width));
  return createTokenCounter({
    named,
    letterPairs: zeros(26, 26),
    capitalPairs: zeros(26, 26),
    markPairs: zeros(MARK_COUNT, MARK_COUNT),
    prefixes: zeros(2, MARK_COUNT),
    commonHan: "的",
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
    expect(Object.keys(TOKEN_MODEL.named)).toEqual(NAMED_COSTS);
    expect(Object.values(TOKEN_MODEL.named).every((cost) => cost >= 0)).toBe(true);
    const { letterPairs, capitalPairs, markPairs, prefixes } = TOKEN_MODEL;
    for (const line of [...letterPairs, ...capitalPairs]) expect(line).toHaveLength(26);
    for (const line of [...markPairs, ...prefixes]) expect(line).toHaveLength(MARK_COUNT);
    expect([letterPairs, capitalPairs, markPairs, prefixes].map(({ length }) => length)).toEqual([
      26,
      26,
      MARK_COUNT,
      2,
    ]);
    for (const digit of [...letterPairs, ...capitalPairs, ...markPairs, ...prefixes].join(""))
      expect(PAIR_DIGITS).toContain(digit);
  });
});
