import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KeyFact } from "../../transcript/carried-facts.ts";
import type { Message } from "../../transcript/message.ts";
import { collectKeyFacts, findKeyFacts, selectKeyFacts } from "./key-facts.ts";
import type { TextPiece, TextPieceType } from "./text.ts";

const MESSAGE: Message = { id: "m1", role: "user", parts: [] };
const piece = (text: string, type: TextPieceType = "typed", handle = "m1/0"): TextPiece => ({
  message: MESSAGE,
  handle,
  type,
  text,
});
const found = (text: string, type?: TextPieceType) =>
  findKeyFacts(piece(text, type)).map((keyFact) => `${keyFact.type} ${keyFact.text}`);

describe("findKeyFacts", () => {
  it("takes no letter of an escape for a part of the word behind it", () => {
    const json = JSON.stringify({ new_string: "a;\n\tbaseContent = 1;", file: "C:\\notes\\read.ts" });
    expect(found(json, "input")).toEqual(expect.arrayContaining(["identifier baseContent", "path read.ts"]));
    expect(found(json, "input").join()).not.toContain("tbaseContent");
  });

  it("ranks what calls failed with before lines that only have the word in them, also once they are carried", () => {
    const seen = Array.from({ length: 30 }, (_, at) => piece(`error ${at} in a log`, "output", `m${at}/0`));
    const failed = piece("ENOENT: no such file", "error", "m0/1");
    const first = collectKeyFacts([], [failed, ...seen]);
    expect(first[0]?.text).toBe("ENOENT: no such file");
    const later = collectKeyFacts(
      first,
      seen.map((each) => ({ ...each, text: `${each.text} again` })),
    );
    expect(later.findIndex(({ text }) => text.startsWith("ENOENT"))).toBeLessThan(15);
  });

  it.each([
    { text: "look at src/a/b.ts, please", keyFacts: ["path src/a/b.ts"] },
    { text: "at (src/a.ts:12:5)", keyFacts: ["path src/a.ts:12:5"] },
    {
      text: "`/etc/hosts` and ~/x/y and ../up/z",
      keyFacts: ["path /etc/hosts", "path ~/x/y", "path ../up/z"],
    },
    { text: "see README.md.", keyFacts: ["path README.md"] },
    { text: "PATH=/usr/local/bin/x", keyFacts: ["path /usr/local/bin/x"] },
    { text: "(https://a.example/b?c=1#d).", keyFacts: ["url https://a.example/b?c=1#d"] },
    { text: "commit 4f2a91c and deadbeef and 20261115", keyFacts: ["sha 4f2a91c"] },
    {
      text: "call parseToken() or MAX_SIZE or a.b_c.d",
      keyFacts: ["identifier parseToken", "identifier MAX_SIZE", "identifier a.b_c.d"],
    },
    {
      text: "<path>/p/src/a.ts</path>\n<type>file</type> a</b/c.ts",
      keyFacts: ["path /p/src/a.ts"],
    },
    { text: "issue ABC-123", keyFacts: ["identifier ABC-123"] },
    { text: "and/or, yes/no, 1/2 of the words", keyFacts: [] },
    { text: "an ordinary sentence about nothing.", keyFacts: [] },
  ])("finds $key facts in what was written", ({ text, keyFacts }) => {
    expect(found(text)).toEqual(keyFacts);
  });

  it("takes commands from calls, on one line, and not the operation of an editor", () => {
    expect(found('{"command":"cargo test \\"a b\\"\\n  --all"}', "input")).toContain(
      'command cargo test "a b" --all',
    );
    expect(found('{"command":"view"}', "input")).toEqual([]);
  });

  it("takes error texts from results, at most three, and not the absence of errors", () => {
    const output = [
      "ok",
      "src/a.ts(3,1): error TS2304: no name",
      "0 errors found",
      "TypeError: x is not a function",
      "FAILED one",
      "FAILED two",
    ];
    expect(found(output.join("\n"), "output").filter((keyFact) => keyFact.startsWith("error"))).toEqual([
      "error src/a.ts(3,1): error TS2304: no name",
      "error TypeError: x is not a function",
      "error FAILED one",
    ]);
    expect(found("No such file\nmore", "error")).toEqual(["error No such file"]);
  });

  it("does not take names from outputs, where they are too many", () => {
    expect(found("fooBar src/x.ts", "output")).toEqual(["path src/x.ts"]);
  });

  it.each(["a", "/", "a/", "ab_", "key=", "error ", "x".repeat(300)])(
    "is quick with 200,000 times %j",
    (unit) => {
      expect(() => findKeyFacts(piece(unit.repeat(200_000 / unit.length), "output"))).not.toThrow();
    },
  );

  it("takes any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.constantFrom<TextPieceType>("typed", "input", "output", "error"),
        (text, type) => {
          for (const keyFact of findKeyFacts(piece(text, type))) expect(keyFact.text).not.toBe("");
        },
      ),
    );
  });
});

describe("collectKeyFacts", () => {
  it("names the place where a thing was seen last, and how often it was seen", () => {
    const pieces = [piece("src/a.ts src/a.ts", "typed", "m1/0"), piece("src/a.ts", "typed", "m2/1")];
    expect(collectKeyFacts([], pieces)).toEqual([
      { type: "path", text: "src/a.ts", handle: "m2/1", seen: 2 },
    ]);
  });

  it("adds to what was carried and keeps the best of it", () => {
    const carried: KeyFact[] = [{ type: "path", text: "src/old.ts", handle: "m0/0", seen: 3 }];
    const pieces = [piece("src/old.ts src/new.ts")];
    expect(collectKeyFacts(carried, pieces)).toEqual([
      { type: "path", text: "src/old.ts", handle: "m1/0", seen: 4 },
      { type: "path", text: "src/new.ts", handle: "m1/0", seen: 1 },
    ]);
    const flood = [piece(Array.from({ length: 2_000 }, (_, n) => `src/new${n}.ts`).join(" "))];
    const after = collectKeyFacts([{ ...carried[0], seen: 9 } as KeyFact], flood);
    expect(after).toHaveLength(400);
    expect(after.map((keyFact) => keyFact.text)).toContain("src/old.ts");
  });

  it("leaves out what was redacted", () => {
    expect(collectKeyFacts([], [piece("token_[REDACTED:github#12ab] src/[REDACTED:x#0000].ts")])).toEqual([]);
  });
});

describe("selectKeyFacts", () => {
  const keyFacts: readonly KeyFact[] = [
    ...Array.from(
      { length: 50 },
      (_, n): KeyFact => ({ type: "path", text: `src/file-${n}.ts`, handle: "m1/0", seen: 1 }),
    ),
    { type: "error", text: "TypeError: no", handle: "m2/0", seen: 1 },
  ];

  it.each([0, 40, 200, 400, 5_000])("takes at most %d characters", (maxChars) => {
    const chars = selectKeyFacts(keyFacts, maxChars).reduce((sum, { text }) => sum + text.length + 2, 0);
    expect(chars).toBeLessThanOrEqual(maxChars);
  });

  it("does not let one kind take the place of all others", () => {
    expect(selectKeyFacts(keyFacts, 400).map((keyFact) => keyFact.type)).toContain("error");
  });
});
