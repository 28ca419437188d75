import { describe, expect, it } from "vitest";
import { decodeBase64Text } from "./base64-text.ts";
import { cookieHeaderEnd, matchCookie } from "./cookie.ts";
import { opaqueFieldEnd } from "./opaque-field.ts";
import { placeholderFor, touchesPlaceholder } from "./placeholder.ts";
import { textOf } from "./secret-span.ts";
import { type ValuePlace, valueAt } from "./value-at.ts";

function read(text: string, place: ValuePlace = "spaced", index = 0) {
  const value = valueAt(text, { index, place });
  return value && [textOf(text, value), value.form];
}

describe("valueAt", () => {
  it.each([
    ["spaced", "abc=def ghi", ["abc=def", "line"]],
    ["spaced", "abc,def", ["abc", "loose"]],
    ["spaced", "abc.", ["abc", "line"]],
    ["spaced", "abc)", ["abc", "loose"]],
    ["spaced", "abc(", undefined],
    ["spaced", "abc[0]", undefined],
    ["spaced", "abc{", undefined],
    ["spaced", " abc", undefined],
    ["spaced", "", undefined],
    ["tight", "abc=def", ["abc", "loose"]],
    ["tight", "abc== x", ["abc==", "line"]],
    ["tight", "abc:def", ["abc", "loose"]],
    ["parameter", "abc&x=1", ["abc", "line"]],
    ["parameter", "abc=def#x", ["abc=def", "line"]],
    ["settings-line", "a&(b;c. d", ["a&(b;c.", "line"]],
  ] as const)("%s, %j: %j", (place, text, expected) => {
    expect(read(text, place)).toEqual(expected);
  });

  it.each([
    ['"a b" c', ["a b", "quoted"]],
    ["'a b' c", ["a b", "quoted"]],
    ["`a b` c", ["a b", "quoted"]],
    ['b"abc"', ["abc", "quoted"]],
    ['\\"a b\\" c', ["a b", "quoted"]],
    ['"a\\"b" c', ['a\\"b', "quoted"]],
    ['""', undefined],
    ['"abc def', ["abc", "line"]],
    ['" abc', undefined],
  ])("in quotes, %s: %j", (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it("reads from where it is told", () => {
    expect(read("key = abc def", "spaced", 6)).toEqual(["abc", "line"]);
    expect(read("x".repeat(5_000))?.[0]).toHaveLength(4_096);
  });
});

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

describe("a cookie", () => {
  const value = "k8Jd2Qw9LmZx4VbT7r";

  it("is read up to its separator, where it can open a session", () => {
    const at = (text: string) => {
      const span = matchCookie(text, text.indexOf("="));
      return span && textOf(text, span);
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
