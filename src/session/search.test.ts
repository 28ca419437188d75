import { describe, expect, it } from "vitest";
import { createRecallSearch, formatMatches } from "./search.ts";

const search = (
  texts: readonly { readonly handle: string; readonly text: string }[],
  query: string,
  maxChars = 8_000,
) => createRecallSearch(undefined)(texts, { search: query, maxChars });

describe("a search for recall", () => {
  it("shows the best line with those around it, and further lines with as many of the words", () => {
    const text = Array.from({ length: 400 }, (_, line) =>
      line % 150 === 99 ? `retry ${line} of the upload` : `line ${line}`,
    ).join("\n");
    const { pieces } = search([{ handle: "m/1", text }], "upload retry 249");
    expect(pieces).toMatchObject([{ handle: "m/1", bestLine: 250, totalLines: 400 }]);
    expect(pieces[0]?.lines.map(({ line }) => line)).toEqual([247, 248, 249, 250, 251, 252, 253]);
  });

  it("lists a text that was read several times once, with the handles of the older ones", () => {
    const texts = ["c", "b", "a"].map((handle) => ({ handle, text: "first\nthe port is 8081\nlast" }));
    expect(search(texts, "which port").pieces).toMatchObject([{ handle: "c", alsoIn: ["b", "a"] }]);
    expect(search(texts, "which port").totalPieces).toBe(1);
  });

  it("stays within the characters, lists at most ten, and says how many more there are", () => {
    const texts = Array.from({ length: 200 }, (_, number) => ({
      handle: `m${number}/0`,
      text: `before ${number}\nhit number ${number} ${"x".repeat(900)}\nafter ${number}`,
    }));
    for (const maxChars of [512, 2_000, 8_000]) {
      const found = search(texts, "hit", maxChars);
      expect(found.pieces.length).toBeLessThanOrEqual(10);
      expect(found.totalPieces).toBe(200);
      expect(formatMatches(found).length).toBeLessThanOrEqual(maxChars + 200);
      expect(formatMatches(found)).toContain(`(${200 - found.pieces.length} more pieces`);
    }
  });

  it("shows the surroundings of a hit in a very long line", () => {
    const { pieces } = search(
      [{ handle: "h/0", text: `${"a ".repeat(3_000)}needle${" b".repeat(3_000)}` }],
      "NEEDLE",
    );
    expect(pieces[0]?.lines[0]?.text).toMatch(/^\.\.\.[a ]+needle[b ]+\.\.\.$/);
    expect(pieces[0]?.lines[0]?.text.length).toBeLessThan(260);
  });

  it("says lines by the numbers that a recall of the handle has", () => {
    // A NUL within lines is a blank, as in every recalled text.
    const text = "\u001b[1mbold\u001b[0m\r\nsecond\0\nthe port is 8081\n";
    expect(search([{ handle: "h", text }], "port").pieces[0]?.lines).toContainEqual({
      line: 3,
      text: "the port is 8081",
    });
  });

  it("says nothing of secrets: neither shows nor finds nor counts them", () => {
    const key = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
    const texts = [
      { handle: "plain", text: "the token is set elsewhere" },
      { handle: "secret", text: `first\nthe token ${key}\nlast` },
    ];
    const find = (query: string) => createRecallSearch({})(texts, { search: query, maxChars: 8_000 });
    for (const query of [key, key.slice(0, 9), `${key} `])
      expect(find(query)).toMatchObject({ pieces: [], totalPieces: 0 });
    expect(find("token").totalPieces).toBe(2);
    expect(JSON.stringify(find("token"))).not.toContain(key);
  });

  it("reads as a list with handles and numbers", () => {
    const found = search([{ handle: "m/1", text: "a\nthe port is 8081\nb" }], "the port?");
    expect(formatMatches(found)).toBe(
      "1 piece found, best first; recall a handle for the whole text.\n\nm/1 line 2 of 3\n1: a\n2: the port is 8081\n3: b",
    );
  });
});
