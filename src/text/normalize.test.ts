import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import {
  isMalformed,
  normalizeByLines,
  normalizeOutput,
  normalizeText,
  normalizeTextWithCounts,
  normalizeTypedText,
  toWellFormed,
} from "./normalize.ts";

const ESC = "\x1b";

describe("normalizeText", () => {
  it.each([
    ["removes colours", `${ESC}[31mred${ESC}[0m ${ESC}[38;2;1;2;3mx${ESC}[m`, "red x"],
    ["removes 8-bit sequences", "\x9b31mred\x9d0;title\x9cdone", "reddone"],
    ["keeps the text of a hyperlink", `${ESC}]8;;http://a.test${ESC}\\click${ESC}]8;;${ESC}\\`, "click"],
    ["removes a clipboard write", `a${ESC}]52;c;cm0gLXJm\x07b`, "ab"],
    ["removes a device control string over lines", `a${ESC}Pq#0\n#1${ESC}\\b`, "ab"],
    ["removes a charset choice and a keypad mode", `${ESC}(Ba${ESC}=b${ESC}7c`, "abc"],
    ["removes an unterminated sequence", `text ${ESC}[`, "text "],
    ["ends an unterminated title at the line end", `${ESC}]0;title\nnext line`, "\nnext line"],
    ["ends an unterminated device control string at the line end", `${ESC}Pabc\nnext line`, "\nnext line"],
    ["removes a lone escape", `a${ESC}`, "a"],
    ["keeps only the last state of a progress line", "\r10%\r50%\r100%\ndone", "100%\ndone"],
    ["keeps the state before an empty overwrite", "100%\r\r\nnext", "100%\r\nnext"],
    ["keeps line breaks of both kinds", "a\r\nb\nc", "a\r\nb\nc"],
    ["drops a carriage return at the very end", "abc\r", "abc"],
    ["lets a backspace erase", "password: hunter2\b\b\b\b\b\b\b*******", "password: *******"],
    ["lets a backspace erase a whole character", "a😀\bb", "ab"],
    ["stops a backspace at the line start", "a\n\b\bb", "a\nb"],
    ["resolves overstruck text", "b\bbo\bol\bld", "bold"],
    ["is not fooled by an invisible overwrite", "rm -rf\r\u200b\n", "rm -rf\r\n"],
    ["drops controls but tabs and line breaks", "a\0b\x07\tc\x0b\x0c\x7f\x85\nd", "ab\tc\nd"],
    ["drops zero-width and direction marks", "ig\u200bno\u200cre\u202e\u2066\u2060\ufeff!", "ignore!"],
    ["drops soft hyphens", "pass\u00adword", "password"],
    ["drops tag characters", "Hello\u{e0069}\u{e0067}\u{e007f}", "Hello"],
    ["drops variation selectors that carry data", "😀\u{e0163}\u{e0155}\ufe03", "😀"],
    ["drops a variation selector after a letter", "a\ufe0fb", "ab"],
    ["drops a second variation selector", "❤\ufe0f\ufe0f", "❤\ufe0f"],
    ["drops a joiner between letters", "pre\u200dvious", "previous"],
    ["replaces lone surrogates", "ok \ud83d end \ude00", "ok \ufffd end \ufffd"],
    ["does not join two halves", "\ud83d\u200b\ude00", "\ufffd\ufffd"],
  ])("%s", (_name, before, after) => {
    expect(normalizeText(before)).toBe(after);
  });

  it.each(["plain", "a\tb\r\nc\n", "👨‍👩‍👧‍👦 👩🏽‍💻 🏳️‍🌈 ❤️ 1️⃣ 🇯🇵 ⚠️", "zażółć 日本語 ﻣﺮﺣﺒﺎ e\u0301 \u2028"])(
    "leaves %j as it is",
    (text) => {
      expect(normalizeText(text)).toBe(text);
    },
  );

  it("counts what it removed", () => {
    expect(normalizeTextWithCounts(`${ESC}[1ma\u200b\0\r\u00adb\ud800`).removed).toEqual({
      escapeSequences: 1,
      overwrites: 1,
      controls: 1,
      invisible: 2,
      loneSurrogates: 1,
    });
  });

  it("gives a second pass nothing to do", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const once = normalizeText(text);
        expect(normalizeText(once)).toBe(once);
        expect(once.isWellFormed()).toBe(true);
        expect(once).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/);
      }),
      { numRuns: runs(5_000) },
    );
  });
});

describe("toWellFormed", () => {
  it("repairs lone surrogates and nothing else", () => {
    expect(toWellFormed("\ud83d \u200b\x1b[m 😀")).toBe("\ufffd \u200b\x1b[m 😀");
  });
});

const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...["\x1b", "[", "]", "P", "\\", "\x07", "\x9b", "\x9c", "\x9d", "\x90", "31m", ";"],
        ...["\r", "\n", "\r\n", "\b", "\t", "\0", "\x7f", "\x85"],
        ...[
          "\u200b",
          "\u200d",
          "\ufe0f",
          "\ufe0e",
          "\u20e3",
          "1",
          "\u00ad",
          "\ufeff",
          "\u{e0061}",
          "\u{e0100}",
        ],
        ...["\ud83d", "\ude00", "\udb40", "\udc61", "😀", "👩", "🏽", "❤", "a", " "],
      ),
      fc.string({ unit: "binary", maxLength: 3 }),
    ),
    { maxLength: 24 },
  )
  .map((pieces) => pieces.join(""));

describe("what normalizing counts", () => {
  const NOTHING = { escapeSequences: 0, overwrites: 0, controls: 0, invisible: 0, loneSurrogates: 0 };

  it.each([
    ["plain", {}],
    ["a\ud800b\udc00\ud83d\ude00", { loneSurrogates: 2 }],
    ["a\u0085b", { controls: 1 }],
    ["a\u00a0b", {}],
    ["a\u00adb", { invisible: 1 }],
    ["\u200b\u200b\0", { invisible: 2, controls: 1 }],
    ["1%\r2%\r3%\nab\b", { overwrites: 3 }],
    ["👨\u200d\b👩", { overwrites: 1, invisible: 1 }],
  ])("%j: %j", (text, removed) => {
    expect(normalizeTextWithCounts(text).removed).toEqual({ ...NOTHING, ...removed });
  });

  it.each([
    ["a joiner behind an emoji and before a letter", "👨\u200da", "👨a"],
    ["a joiner behind a letter and before an emoji", "a\u200d👩", "a👩"],
    ["a joiner at the end", "👨\u200d", "👨"],
    ["a joiner at the start", "\u200d👩", "👩"],
    ["a joiner behind a skin tone", "👩🏽\u200d💻", "👩🏽\u200d💻"],
    ["a joiner behind a dropped one", "👨\u200b\u200d👩", "👨\u200d👩"],
    ["a text style behind a picture", "❤\ufe0e", "❤\ufe0e"],
    ["a text style behind a letter", "a\ufe0e", "a"],
    ["an emoji style of a keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"],
    ["an emoji style behind a digit", "1\ufe0f", "1"],
    ["an emoji style of a letter in a box", "a\ufe0f\u20e3", "a\u20e3"],
    ["a joiner that a backspace left behind", "👨\u200d👩\b", "👨"],
    ["a line of nothing but overwrites", "\r\r\nb", "\r\nb"],
    ["a line of nothing but erased text", "a\b\nb", "\nb"],
    ["an erased line and an overwritten one", "abc\b\nx\ry", "ab\ny"],
  ])("keeps or drops %s", (_name, before, after) => {
    expect(normalizeText(before)).toBe(after);
  });
});

describe("normalizeTypedText", () => {
  it("takes out control characters and repairs halves of characters, and keeps what languages need", () => {
    expect(normalizeTypedText("a\u0000b\u0007c\u009fd")).toBe("abcd");
    expect(normalizeTypedText("a\ud800b")).toBe("a\ufffdb");
    const kept = "line\n\ttab\r\n\u200d\u200f\u0628";
    expect(normalizeTypedText(kept)).toBe(kept);
  });
});

describe("normalizeOutput", () => {
  const words = "one two three four five six seven eight nine ten".split(" ");
  it.each([
    { name: "the last state of progress", text: "\r10% done\r60% done\r100% done\n", shows: "100% done\n" },
    {
      name: "progress that is told often",
      text: `${"\r1% of it".repeat(99)}\r100% of it`,
      shows: "100% of it",
    },
    { name: "lines that end as on old Macs", text: words.join("\r"), shows: words.join("\n") },
    { name: "CRLF", text: "a\r\nb\r\n", shows: "a\r\nb\r\n" },
    { name: "names between NULs", text: "./a/b.txt\0./c/d.txt\0", shows: "./a/b.txt\n./c/d.txt\n" },
    {
      name: "NULs within lines",
      text: "nul 1 \0x\nnul 2 \0x\nnul 3 \0x\n",
      shows: "nul 1  x\nnul 2  x\nnul 3  x\n",
    },
    { name: "UTF-16 that was read as bytes", text: "h\0e\0l\0l\0o\0", shows: "hello" },
    { name: "colours", text: "\u001b[31mred\u001b[0m", shows: "red" },
  ])("keeps $name", ({ text, shows }) => {
    expect(normalizeOutput(text)).toBe(shows);
  });
});

describe("normalizeByLines", () => {
  it("gives for any text and any size of pieces what normalizing the whole gives", () => {
    const anyPiece = fc.oneof(
      anyText,
      fc.constantFrom(
        "\n",
        "\r\n",
        "\r",
        "\b",
        `${ESC}[31m`,
        `${ESC}]0;a`,
        `${ESC}Pq`,
        `${ESC}\\`,
        "\x90",
        "\x9c",
      ),
      fc.constantFrom("👩", "\u200d", "\ufe0f", "❤", "1", "\u20e3", "\ud83d", "\ude00", ESC, "[", "\x07"),
    );
    const anyLines = fc.array(anyPiece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(anyLines, fc.integer({ min: 1, max: 60 }), (text, pieceChars) => {
        expect(normalizeByLines(text, pieceChars)).toEqual(normalizeTextWithCounts(text));
      }),
      { numRuns: runs(5_000) },
    );
  });

  it.each([
    { name: "a device control string over lines", text: `a${ESC}Pq#0\n#1${ESC}\\b` },
    { name: "an unterminated title", text: `${ESC}]0;title\nnext line` },
    { name: "an escape before a line end", text: `a${ESC}\nb${ESC}[\nc` },
    { name: "a progress line before a line end", text: "10%\r20%\r\n\rdone\n" },
  ])("does not take $name apart", ({ text }) => {
    expect(normalizeByLines(text, 1)).toEqual(normalizeTextWithCounts(text));
  });
});

it.each([
  ["plain", false],
  ["line\n\ttab\r\n", false],
  ["nul\u0000", true],
  ["bell\u0007", true],
  ["delete\u007f", true],
  ["half \ud800", true],
])("a provider may refuse %j: %s", (value, malformed) => {
  expect(isMalformed(value)).toBe(malformed);
});
