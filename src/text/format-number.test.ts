import { describe, expect, it } from "vitest";
import { formatBytes, plural } from "./format-number.ts";

describe("a number for people", () => {
  it("has its noun", () => {
    expect([0, 1, 2].map((count) => plural(count, "line"))).toEqual(["0 lines", "1 line", "2 lines"]);
  });

  it("has its unit", () => {
    expect([0, 1_023, 1_024, 1_048_575, 1_048_576].map(formatBytes)).toEqual([
      "0 B",
      "1023 B",
      "1.0 KB",
      "1024.0 KB",
      "1.0 MB",
    ]);
  });
});
