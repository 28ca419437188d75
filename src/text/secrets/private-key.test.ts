import { describe, expect, it } from "vitest";
import { matchKeyLines, matchPrivateKey } from "./private-key.ts";

// Glued from pieces, so that no scanner takes this file for a leak.
const begin = ["-----BEGIN ", "PRIVATE", " KEY-----"].join("");
const end = ["-----END ", "PRIVATE", " KEY-----"].join("");
const line = (chars: number) => "k8Jd2Qw9LmZx4VbT7rPzhG5nYc3WsX1q".repeat(4).slice(0, chars);

const block = (text: string) => {
  const span = matchPrivateKey(text, { markIndex: 0, limitIndex: 0 });
  return span && text.slice(span.startIndex, span.endIndex);
};

describe("matchPrivateKey, from a BEGIN line", () => {
  it("is the whole block, and nothing behind it", () => {
    const text = `${begin}\n${line(64)}\n${line(10)}=\n${end}`;
    expect(block(`${text}\nmore`)).toBe(text);
    expect(matchPrivateKey(text, { markIndex: 0, limitIndex: 0 })?.type).toBe("private-key");
    expect(block(`x${text}`)).toBeUndefined();
  });

  it.each([
    { name: "40 characters of key", body: line(40), isKey: true },
    { name: "39 characters of key", body: line(39), isKey: false },
    { name: "two lines of 24", body: `${line(24)}\n${line(24)}`, isKey: true },
    { name: "lines of 23", body: `${line(23)}\n${line(23)}`, isKey: false },
    { name: "nothing", body: "", isKey: false },
  ])("$name: $isKey", ({ body, isKey }) => {
    expect(block(`${begin}\n${body}\n${end}`) !== undefined).toBe(isKey);
  });

  it.each([
    { name: "the end of the text", rest: line(9), kept: line(9) },
    { name: "padding", rest: `${line(9)}=\nmore of it`, kept: `${line(9)}=` },
    { name: "the end line", rest: `${line(9)}\n${end}`, kept: `${line(9)}\n${end}` },
    { name: "a checksum", rest: `${line(9)}\n=aB3d\nmore of it`, kept: `${line(9)}\n=aB3d` },
    { name: "other text", rest: `${line(9)} is no key`, kept: "" },
  ])("takes a short last line before $name", ({ rest, kept }) => {
    const whole = `${begin}\n${line(64)}`;
    expect(block(`${whole}\n${rest}`)).toBe(kept === "" ? whole : `${whole}\n${kept}`);
  });

  it("passes over eight headers, before the key only", () => {
    const headers = (count: number) =>
      Array.from({ length: count }, () => "Proc-Type: 4,ENCRYPTED\n").join("");
    expect(block(`${begin}\n${headers(8)}\n${line(64)}`)).toContain(line(64));
    expect(block(`${begin}\n${headers(9)}\n${line(64)}`)).toBeUndefined();
    expect(block(`${begin}\n${line(64)}\nComment: none\n${line(64)}`)).toBe(`${begin}\n${line(64)}`);
  });
});

describe("matchKeyLines", () => {
  it("begins where it is told", () => {
    const text = `Private-Lines: 2\n${line(64)}\n${line(64)}\nPrivate-MAC: 1`;
    const span = matchKeyLines(text, 16);
    expect(span && text.slice(span.startIndex, span.endIndex)).toBe(`\n${line(64)}\n${line(64)}`);
  });
});

describe("matchPrivateKey, from an END line", () => {
  const tail = (text: string, limitIndex = 0) => {
    const span = matchPrivateKey(text, { markIndex: text.indexOf("-----END"), limitIndex });
    return span && text.slice(span.startIndex, span.endIndex);
  };

  it("is every line before the end line, whose last may be short", () => {
    const text = `${line(64)}\n${line(64)}\n${line(9)}\n${end}`;
    expect(tail(text)).toBe(text);
    expect(tail(`so far.\n${text}`)).toBe(text);
    expect(tail(`${line(23)}\n${text}`)).toBe(text);
    expect(tail(`${line(24)}\n${text}`)).toBe(`${line(24)}\n${text}`);
  });

  it("goes back to its limit and no further", () => {
    const text = `${line(64)}\n${line(64)}\n${end}`;
    expect(tail(text, 65)).toBe(text.slice(65));
    expect(tail(text, 30)).toBe(text.slice(30));
  });

  it("needs 40 characters of key, and the end of a private one", () => {
    expect(tail(`${line(40)}\n${end}`)).toBe(`${line(40)}\n${end}`);
    expect(tail(`${line(39)}\n${end}`)).toBeUndefined();
    expect(tail(`PRIVATE KEY ${line(64)}\n-----END CERTIFICATE-----`)).toBeUndefined();
  });
});
