import { describe, expect, it } from "vitest";
import { normalizeTypedText } from "./normalize.ts";

describe("normalizeTypedText", () => {
  it("takes out control characters and repairs halves of characters, and keeps what languages need", () => {
    expect(normalizeTypedText("a\u0000b\u0007c\u009fd")).toBe("abcd");
    expect(normalizeTypedText("a\ud800b")).toBe("a\ufffdb");
    const kept = "line\n\ttab\r\n\u200d\u200f\u0628";
    expect(normalizeTypedText(kept)).toBe(kept);
  });
});
