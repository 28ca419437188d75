import { describe, expect, it } from "vitest";
import { placeholderFor, touchesPlaceholder } from "./placeholder.ts";

describe("placeholders", () => {
  it("tell secrets apart by four digits, under one key", () => {
    const of = (secret: string, key = "") => placeholderFor({ secret, type: "token", key });
    expect(of("a")).toMatch(/^\[REDACTED:token#[\da-f]{4}\]$/);
    expect(new Set(Array.from({ length: 200 }, (_, number) => of(`secret ${number}`))).size).toBeGreaterThan(
      195,
    );
    expect(of("a")).toBe(of("a"));
    expect(of("a")).not.toBe(of("a", "key"));
    expect(of("b", "a")).not.toBe(of("ab"));
  });

  it("are touched by a span inside, around or at the end of one", () => {
    const text = "x [REDACTED:token#12ab] y";
    const touches = (startIndex: number, endIndex: number) =>
      touchesPlaceholder(text, { startIndex, endIndex, type: "token" });
    expect(touches(12, 17)).toBe(true);
    expect(touches(20, 22)).toBe(true);
    expect(touches(0, text.length)).toBe(true);
    expect(touches(0, 1)).toBe(false);
    expect(touches(24, 25)).toBe(false);
  });
});
