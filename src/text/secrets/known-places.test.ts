import { describe, expect, it } from "vitest";
import { cookieHeaderEnd, matchCookie, opaqueFieldEnd } from "./known-places.ts";
import { sliceSpan } from "./secret-value.ts";

describe("a cookie", () => {
  const value = "k8Jd2Qw9LmZx4VbT7r";

  it("is read up to its separator, where it can open a session", () => {
    const at = (text: string) => {
      const span = matchCookie(text, text.indexOf("="));
      return span && sliceSpan(text, span);
    };
    expect(at(`sid=${value}; a=b`)).toBe(value);
    expect(at(`sid=${value}==; a=b`)).toBe(`${value}==`);
    expect(at("sid=short; a=b")).toBeUndefined();
    expect(at("sid=the-quick-brown-fox-jumps")).toBeUndefined();
    expect(at("sid=xxxxxxxxxxxxxxxxxxxxxxxx")).toBeUndefined();
  });

  it("stands in a header of that name, up to the end of the line", () => {
    const end = (text: string) => cookieHeaderEnd(text, text.indexOf(":"));
    expect(end("Cookie: a=b\nnext")).toBe(11);
    expect(end("SET-COOKIE: a=b\r\nnext")).toBe(15);
    expect(end('"cookie": "a=b"')).toBe(15);
    expect(end("Cookies: a=b")).toBeUndefined();
    expect(end("name: a=b")).toBeUndefined();
  });
});

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
