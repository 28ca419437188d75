import { expect, it } from "vitest";
import { ideographGaps } from "../../../scripts/token-model/model-source.ts";
import {
  FIRST_CAPITAL_PAIR,
  FIRST_LETTER_PAIR,
  FIRST_MARK_PAIR,
  FIRST_PREFIX,
  MARK_COUNT,
  NAMED_COSTS,
  stepOf,
  symbolTable,
} from "./automaton.ts";

const MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const symbols = symbolTable(ideographGaps("是的"));

/** The names of all that a text costs, in order. */
function costsOf(text: string): string {
  const names: string[] = [];
  let row = 0;
  for (let index = 0; index < text.length; index++) {
    const { nextRow, costs } = stepOf(row, symbols[text.charCodeAt(index)] ?? -1);
    names.push(...costs.map(nameOf));
    row = nextRow;
  }
  return names.join(" ");
}

function nameOf(cost: number): string {
  if (cost >= FIRST_PREFIX) {
    const mark = cost - FIRST_PREFIX;
    return mark < MARK_COUNT ? `lower-behind-${markOf(mark)}` : `upper-behind-${markOf(mark - MARK_COUNT)}`;
  }
  if (cost >= FIRST_MARK_PAIR) {
    const pair = cost - FIRST_MARK_PAIR;
    return `marks-${markOf(Math.floor(pair / MARK_COUNT))}${markOf(pair % MARK_COUNT)}`;
  }
  if (cost >= FIRST_CAPITAL_PAIR) return `capitals-${lettersOf(cost - FIRST_CAPITAL_PAIR)}`;
  if (cost >= FIRST_LETTER_PAIR) return `letters-${lettersOf(cost - FIRST_LETTER_PAIR)}`;
  return NAMED_COSTS[cost] ?? "unknown";
}

function markOf(mark: number): string {
  return MARKS[mark] ?? `wide${mark - MARKS.length}`;
}

function lettersOf(pair: number): string {
  return String.fromCharCode(97 + Math.floor(pair / 26), 97 + (pair % 26));
}

it.each([
  ["abc", "start-bare-lower second-letter letters-bc"],
  [" ab", "start-space-lower second-letter"],
  ["\tab", "start-tab-lower second-letter"],
  ["\nab", "line start-bare-lower second-letter"],
  ["Abc", "start-bare-upper letters-ab letters-bc"],
  [" A", "start-space-upper"],
  ["\tA", "start-tab-upper"],
  ["ABC", "start-bare-upper capitals-ab capitals-bc"],
  ["ABc", "start-bare-upper capitals-ab letters-bc"],
  ["aB", "start-bare-lower hump"],
  ["abC", "start-bare-lower second-letter hump"],
  ["abCd", "start-bare-lower second-letter hump letters-cd"],
  ["abCD", "start-bare-lower second-letter hump capital-inside"],
  ["cba", "start-bare-lower second-letter letters-ba"],
  ["baB", "start-bare-lower second-letter hump"],
  ["baC", "start-bare-lower second-letter hump"],
  ["abCA", "start-bare-lower second-letter hump capital-inside"],
  ["ABA", "start-bare-upper capitals-ab capitals-ba"],
  ["abAB", "start-bare-lower second-letter hump capital-inside"],
  ["abCDe", "start-bare-lower second-letter hump capital-inside letters-de"],
])("of the letters %j costs %s", (text, costs) => {
  expect(costsOf(text)).toBe(costs);
});

it.each([
  ["1", "digits"],
  ["123", "digits"],
  ["1234", "digits digits"],
  ["1234567", "digits digits digits"],
  [" 1", "digits digits-after-blank"],
  ["\t1", "digits digits-after-blank"],
  ["  1", "blanks digits digits-after-blank"],
  ["\n1", "line digits"],
  ["a1", "start-bare-lower digits"],
  ["1a", "digits start-digit-lower"],
  ["123a", "digits start-digit-lower"],
  ["1A", "digits start-digit-upper"],
  ["1AB", "digits start-digit-upper capital-inside"],
  ["123AB", "digits start-digit-upper capital-inside"],
])("of the digits %j costs %s", (text, costs) => {
  expect(costsOf(text)).toBe(costs);
});

it.each([
  [" ", ""],
  ["\t", ""],
  ["  ", "blanks"],
  ["\t\t", "blanks"],
  ["   ", "blanks space-more"],
  [" \t\t", "blanks tab-more"],
  ["  a", "blanks start-space-lower"],
  ["a ", "start-bare-lower"],
  ["a\n", "start-bare-lower line"],
  ["\n\n", "line line-more"],
  [" \n", "line"],
  ["  \n", "blanks line-after-blanks"],
  [";\n", "mark line-after-mark"],
  [";;\n", "mark marks-;; line-after-mark"],
  [";\n\n", "mark line-after-mark line-more"],
  [";\n\n\n", "mark line-after-mark line-more line-more"],
  ["\r\n", "line line-more"],
])("of the blanks %j costs %s", (text, costs) => {
  expect(costsOf(text)).toBe(costs);
});

it.each([
  ["!", "mark"],
  ["~", "mark"],
  [" ;", "mark mark-after-space"],
  ["  ;", "blanks mark mark-after-space"],
  ["\t;", "mark mark-after-tab"],
  ["\n;", "line mark"],
  ["a;", "start-bare-lower mark"],
  ["(!", "mark marks-(!"],
  ["(!)", "mark marks-(! marks-!)"],
  [";a", "mark lower-behind-;"],
  ["~A", "mark upper-behind-~"],
  [" ;a", "mark mark-after-space start-bare-lower"],
  [";;a", "mark marks-;; start-bare-lower"],
  [";;A", "mark marks-;; start-bare-upper"],
  ["\u0001", "mark-control"],
  ["“", "mark-typographic"],
  ["、", "mark-cjk"],
  ["→", "mark-picture"],
  ["\u200d", "mark-joiner"],
  ["😀", "mark-high-surrogate marks-wide5wide6"],
  ["\udc00", "mark-low-surrogate"],
  ["!\n", "mark line-after-mark"],
  ["!!", "mark marks-!!"],
  ["!a", "mark lower-behind-!"],
  ["!é", "mark marked-latin"],
  [" !é", "mark mark-after-space bare-latin"],
  [";AB", "mark upper-behind-; capitals-ab"],
  [";;AB", "mark marks-;; start-bare-upper capitals-ab"],
  [" !a", "mark mark-after-space start-bare-lower"],
  ["“a", "mark-typographic lower-behind-wide1"],
])("of the marks %j costs %s", (text, costs) => {
  expect(costsOf(text)).toBe(costs);
});

it.each([
  ["é", "bare-latin"],
  [" é", "spaced-latin"],
  ["\té", "spaced-latin"],
  ["  é", "blanks spaced-latin"],
  ["\né", "line bare-latin"],
  ["1é", "digits bare-latin"],
  [";é", "mark marked-latin"],
  [";;é", "mark marks-;; bare-latin"],
  ["aé", "start-bare-lower next-latin"],
  ["Aé", "start-bare-upper next-latin"],
  ["éa", "bare-latin letter-after-latin"],
  ["éA", "bare-latin letter-after-latin"],
  ["жж", "bare-cyrillic next-cyrillic"],
  [" ж", "spaced-cyrillic"],
  [";ж", "mark marked-cyrillic"],
  ["baé", "start-bare-lower second-letter next-latin"],
  ["жéa", "bare-cyrillic next-latin letter-after-latin"],
  ["жa", "bare-cyrillic letter-after-script"],
  ["是的", "bare-han-common next-han-common"],
  ["龘的", "bare-han-rare han-common-after-han-rare"],
  ["龘龘", "bare-han-rare han-rare-after-han-rare"],
  ["龘ж", "bare-han-rare next-cyrillic"],
  ["한", "bare-hangul"],
  ["ｶ", "bare-rare"],
])("of the script %j costs %s", (text, costs) => {
  expect(costsOf(text)).toBe(costs);
});
