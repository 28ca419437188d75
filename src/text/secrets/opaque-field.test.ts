import { describe, expect, it } from "vitest";
import { opaqueFieldEnd } from "./opaque-field.ts";

describe("opaqueFieldEnd", () => {
  const end = (text: string) => opaqueFieldEnd(text, text.indexOf(":"));

  it("gives the end of a value that must come back unchanged", () => {
    const value = "a".repeat(48);
    expect(end(`"signature": "${value}", "b": 1`)).toBe(`"signature": "${value}"`.length);
    expect(end(`\\"data\\":\\"${value}\\"`)).toBe(`\\"data\\":\\"${value}\\"`.length);
  });

  it.each([
    `"signature": "${"a".repeat(47)}"`,
    `"name": "${"a".repeat(48)}"`,
    `signature: "${"a".repeat(48)}"`,
    `"signature": "${"a ".repeat(48)}"`,
  ])("finds none in %s", (text) => {
    expect(end(text)).toBeUndefined();
  });
});
