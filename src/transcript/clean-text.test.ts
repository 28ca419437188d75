import { expect, it } from "vitest";
import { isMalformed, type Message, normalizePartText } from "./message.ts";

const text = "a\u200db\u0000";
const message = (role: string): Message => ({ id: "m", role, parts: [] });

it("keeps the joiners of what a person typed, and takes them out of everything else", () => {
  expect(normalizePartText(message("user"), { type: "text", text })).toBe("a\u200db");
  expect(normalizePartText(message("user"), { type: "text", text, synthetic: true })).toBe("ab");
  expect(normalizePartText(message("assistant"), { type: "text", text })).toBe("ab");
});

it.each([
  ["plain", false],
  ["line\n\ttab\r\n", false],
  ["nul\u0000", true],
  ["bell\u0007", true],
  ["delete\u007f", true],
  ["half \ud800", true],
])("of %j it is malformed: %s", (value, malformed) => {
  expect(isMalformed(value)).toBe(malformed);
});
