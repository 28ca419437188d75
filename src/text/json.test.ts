import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonOrText, safeJson, textOrJson } from "./json.ts";

const cyclic: Record<string, unknown> = { name: "self" };
cyclic.self = cyclic;

const throwing = {
  toJSON() {
    throw new Error("no JSON today");
  },
};

describe("safeJson", () => {
  it.each([
    { name: "a cycle", value: cyclic },
    { name: "a BigInt", value: { n: 1n } },
    { name: "a throwing toJSON", value: throwing },
    { name: "a function", value: () => 1 },
    { name: "undefined", value: undefined },
  ])("prints {...} for $name", ({ value }) => expect(safeJson(value)).toBe("{...}"));

  it("prints everything else as JSON does", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(safeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });
});

it("read JSON where a text is JSON, and write it where a value is no text", () => {
  expect(['{"a":1}', "5", "no json", 5, null].map(jsonOrText)).toEqual([{ a: 1 }, 5, "no json", 5, null]);
  expect(["x", undefined, null, { a: 1 }, 0].map(textOrJson)).toEqual(["x", "", "", '{"a":1}', "0"]);
});
