import { describe, expect, it } from "vitest";
import { count, percent, plural, short, signed } from "./numbers.ts";
import { moment } from "./times.ts";

describe("numbers", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1_000, "1.0 k"],
    [9_949, "9.9 k"],
    [48_210, "48 k"],
    [999_499, "999 k"],
    [999_500, "1.0 M"],
    [1_234_567, "1.2 M"],
    [18_000_000, "18 M"],
  ])("%d is short as %s", (value, words) => expect(short(value)).toBe(words));

  it.each([
    [0, 10, "0 %"],
    [1, 1_000, "<1 %"],
    [96, 100, "96 %"],
    [5, 0, "0 %"],
  ])("%d of %d is %s", (part, whole, words) => expect(percent(part, whole)).toBe(words));

  it("have a sign where they are a difference", () => {
    expect([signed(12), signed(-3_100), signed(0)]).toEqual(["+12", "−3,100", "±0"]);
  });

  it("count one thing and many", () => {
    expect([plural(1, "message"), plural(2_000, "message"), count(1.6)]).toEqual([
      "1 message",
      "2,000 messages",
      "2",
    ]);
  });

  it("of a time that cannot be are nothing", () => {
    expect([moment(Number.NaN), moment(1e300)]).toEqual(["", ""]);
  });
});
