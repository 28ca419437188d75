import { describe, expect, it } from "vitest";
import { decodeBase64Text } from "./secret-value.ts";

describe("decodeBase64Text", () => {
  it.each(["", "a", "ab", "abc", "user:password", "tab\t line\r\n ~"])("gives back %j", (text) => {
    expect(decodeBase64Text(Buffer.from(text).toString("base64"))).toBe(text);
  });

  it.each([
    "a b=",
    "\u00e9",
    Buffer.from([0, 1, 2]).toString("base64"),
    Buffer.from("\u007f").toString("base64"),
  ])("finds no plain text in %j", (encoded) => {
    expect(decodeBase64Text(encoded)).toBeUndefined();
  });
});
