import { expect, it } from "vitest";
import { groupBy } from "./group-by.ts";

it("puts values with the same key together, keys and values in the order in which they come", () => {
  const groups = groupBy(["pear", "fig", "plum", "apple", "fog"], (word) => word[0]);
  expect([...groups]).toEqual([
    ["p", ["pear", "plum"]],
    ["f", ["fig", "fog"]],
    ["a", ["apple"]],
  ]);
  expect(groupBy([], String).size).toBe(0);
});
