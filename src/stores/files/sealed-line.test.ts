import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32, openSealedLine, sealLine } from "./sealed-line.ts";

const seal = (value: unknown): Uint8Array => sealLine([["e", JSON.stringify(value)]]).subarray(0, -1);

describe("crc32", () => {
  it.each([
    ["", 0],
    ["123456789", 0xcbf43926],
    ["The quick brown fox jumps over the lazy dog", 0x414fa339],
  ])("of %j is the published one", (text, expected) => {
    expect(crc32(Buffer.from(text))).toBe(expected);
  });
});

describe("openSealedLine", () => {
  it("gives back every value that JSON can hold, from a line without line breaks", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const line = seal(value);
        expect(line.includes(0x0a)).toBe(false);
        const opened = openSealedLine(line);
        expect(opened.status === "whole" && opened.fields.e).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("notices any changed byte", () => {
    const line = seal({ text: "some content ✓", list: [1, 2, 3] });
    for (let index = 0; index < line.length; index += 1) {
      for (const bit of [1, 4, 32, 128]) {
        const changed = line.slice();
        changed[index] = (changed[index] ?? 0) ^ bit;
        expect(openSealedLine(changed).status).toBe("damaged");
      }
    }
  });

  it("notices any lost end", () => {
    const line = seal({ text: "some content", c: 1 });
    for (let length = 0; length < line.length; length += 1) {
      expect(openSealedLine(line.subarray(0, length)).status).toBe("damaged");
    }
  });

  it.each([
    ["", "SYNTAX"],
    ["{}", "SYNTAX"],
    ['{"v":1,"e":1}', "SYNTAX"],
    ['{"v":1,"e":1,"c":1}', "CHECKSUM"],
    ["\0\0\0\0", "NUL"],
  ])("says what is wrong with %j", (text, code) => {
    expect(openSealedLine(Buffer.from(text))).toMatchObject({ status: "damaged", code });
  });

  it("leaves a line of another version alone", () => {
    const body = '{"v":2,"e":1';
    const line = Buffer.from(`${body},"c":${crc32(Buffer.from(body))}}`);
    expect(openSealedLine(line)).toMatchObject({ status: "damaged", code: "VERSION" });
  });
});
