import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeQueries, NATURAL_KINDS } from "../../../bench/recall-queries.ts";
import { runs } from "../../../test/rig/runs.ts";
import { searchTexts } from "./search-texts.ts";
import { createTextIndex, type IndexedText } from "./text-index.ts";

/** A small archive as an agent leaves it: what was said, a file, a log, a listing, other languages. */
const ARCHIVE: readonly IndexedText[] = [
  {
    handle: "said",
    text: "I will rename the session store first, then move the retry logic into its own module.\nThe staging database moves to Frankfurt on Thursday evening.",
  },
  {
    handle: "config",
    text: "export function parseConfigFile(path: string): Config {\n  const raw = readFileSync(path);\n  if (raw.length > MAX_CONFIG_BYTES) throw new ConfigError('too large', path);\n  return validate(JSON.parse(raw));\n}",
  },
  {
    handle: "log",
    text: `${Array.from({ length: 120 }, (_, line) => `GET /health 200 in ${line} ms`).join("\n")}\nECONNREFUSED 10.0.3.7:5433 while opening the replica pool\n${Array.from({ length: 90 }, (_, line) => `GET /metrics 200 in ${line} ms`).join("\n")}`,
  },
  {
    handle: "types",
    text: "src/window/prune.ts(41,7): error TS2345: Argument of type 'string' is not assignable to parameter of type 'Handle'.\nsrc/window/bound.ts(9,3): error TS6133: 'unused' is declared but its value is never read.",
  },
  {
    handle: "listing",
    text: "src/window/prune.ts\nsrc/window/bound.ts\nsrc/session/retry_policy.ts\nsrc/session/journal_writer.ts\ntest/fixtures/naïve-café.json",
  },
  {
    handle: "tests",
    text: "✓ keeps the newest outputs whole\n✗ two batches in one request overlap\n  expected 3 edits, received 2\n  at overlap.test.ts:88:14",
  },
  { handle: "german", text: "Die Prüfung der Schlüssel schlägt fehl, sobald der Zähler überläuft." },
  { handle: "chinese", text: "数据库连接在港口五四三二上被拒绝。\n请先检查防火墙规则。" },
  { handle: "korean", text: "배포 서버의 인증서가 만료되었습니다." },
  { handle: "russian", text: "Сервер очередей перезапущен после сбоя питания." },
];

function search(query: string, texts: readonly IndexedText[] = ARCHIVE): readonly string[] {
  const index = createTextIndex((text) => text);
  const entries = index.update(texts);
  return searchTexts(index, entries, { search: query, clean: ({ text }) => text }).texts.map(
    ({ handle }) => handle,
  );
}

describe("searchTexts", () => {
  it.each([
    { name: "a question", query: "where does the staging database move to?", first: "said" },
    { name: "another word order", query: "pool replica opening ECONNREFUSED", first: "log" },
    { name: "a word that is missing", query: "rename the store first", first: "said" },
    { name: "a word too many", query: "the frobnicated replica pool was refused", first: "log" },
    { name: "a doubled space", query: "retry  logic", first: "said" },
    { name: "plural", query: "overlapping batch in requests", first: "tests" },
    { name: "words for an identifier", query: "parse config file", first: "config" },
    { name: "another case", query: "max_config_bytes", first: "config" },
    { name: "an identifier for words", query: "retryPolicy", first: "listing" },
    { name: "an identifier in one word", query: "parseconfigfile", first: "config" },
    { name: "two words for one", query: "config error class", first: "config" },
    { name: "a port", query: "what was on port 5433", first: "log" },
    { name: "an address", query: "10.0.3.7", first: "log" },
    { name: "the code of an error", query: "error 2345", first: "types" },
    { name: "the code with its letters", query: "what is TS6133 about", first: "types" },
    { name: "a path", query: "what was wrong in src/window/prune.ts(41,7)", first: "types" },
    { name: "accents left out", query: "naive cafe fixture", first: "listing" },
    { name: "German", query: "wann schlägt die Prüfung der Schlüssel fehl?", first: "german" },
    { name: "German without dots", query: "zahler uberlauft", first: "german" },
    { name: "Chinese", query: "防火墙", first: "chinese" },
    { name: "Chinese, another order", query: "被拒绝的数据库连接", first: "chinese" },
    { name: "one Chinese character", query: "港", first: "chinese" },
    { name: "Korean", query: "인증서 만료", first: "korean" },
    { name: "Russian", query: "после сбоя сервер", first: "russian" },
    { name: "only question words", query: "is not", first: "types" },
    { name: "a part of a word", query: "NREFUS", first: "log" },
    { name: "signs", query: "(41,7):", first: "types" },
    { name: "a quoted text in a question", query: 'which test says "in one request"?', first: "tests" },
  ])("finds by $name", ({ query, first }) => {
    expect(search(query)[0]).toBe(first);
  });

  it.each(["xylophone", "zzz qqq", "", "   ", "?!"])("finds nothing for %j", (query) => {
    expect(search(query)).toEqual([]);
  });

  it("puts what holds the text word for word before what holds its words more often", () => {
    const texts = [
      { handle: "often", text: "end of file, file end, the end of a file at the file end\n".repeat(9) },
      { handle: "exact", text: `${"nothing here\n".repeat(50)}Error: unexpected end of file\n` },
      { handle: "within", text: "unexpected end of files" },
    ];
    expect(search("unexpected end of file", texts).slice(0, 2)).toEqual(["exact", "within"]);
  });

  it("gives the newest of equals first", () => {
    const texts = ["c", "b", "a"].map((handle) => ({ handle, text: "the harbour is open" }));
    expect(search("harbour open", texts)).toEqual(["c", "b", "a"]);
  });

  it("has the right text among the first three for queries that a script made, nearly always", () => {
    const queries = [1, 2, 3, 4].flatMap((seed) => makeQueries(ARCHIVE, NATURAL_KINDS, seed));
    const missed = queries.filter(({ search: query, handle }) => !search(query).slice(0, 3).includes(handle));
    expect(queries.length).toBeGreaterThanOrEqual(16);
    expect(missed).toEqual([]);
  });

  it("finds every substring that stands in a text, whatever its case", () => {
    const anyPiece = fc
      .tuple(fc.constantFrom(...ARCHIVE), fc.nat(), fc.integer({ min: 2, max: 40 }), fc.boolean())
      .map(([{ handle, text }, at, chars, isUpper]) => {
        const start = at % text.length;
        const piece = text.slice(start, start + chars).trim();
        return { handle, piece: isUpper ? piece.toUpperCase() : piece };
      })
      .filter(
        ({ piece }) => piece !== "" && piece.isWellFormed() && piece.toLowerCase().length === piece.length,
      );
    fc.assert(
      fc.property(anyPiece, ({ handle, piece }) => {
        const holders = ARCHIVE.filter(({ text }) => text.toLowerCase().includes(piece.toLowerCase()));
        const found = search(piece);
        expect(found).toContain(handle);
        // What holds it comes before everything that does not.
        const names = holders.map((holder) => holder.handle);
        expect(found.slice(0, names.length).every((name) => names.includes(name))).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });
});

describe("an index", () => {
  it("follows texts that come, go and change", () => {
    const index = createTextIndex((text) => text);
    const find = (texts: readonly IndexedText[], query: string) =>
      searchTexts(index, index.update(texts), { search: query, clean: ({ text }) => text }).texts.map(
        ({ handle }) => handle,
      );
    const one = { handle: "1", text: "the harbour is open" };
    expect(find([one], "harbour")).toEqual(["1"]);
    expect(find([{ handle: "2", text: "a harbour" }, one], "harbour")).toEqual(["2", "1"]);
    expect(find([{ handle: "1", text: "the bridge is closed" }], "harbour")).toEqual([]);
    expect(find([{ handle: "1", text: "the bridge is closed" }], "bridges")).toEqual(["1"]);
    expect(find([], "bridge")).toEqual([]);
  });

  it("finds the same after most of its texts are gone", () => {
    const index = createTextIndex((text) => text);
    const many = Array.from({ length: 1_500 }, (_, number) => ({
      handle: String(number),
      text: `text number ${number} about topic${number}`,
    }));
    index.update(many);
    const before = index.passages.count;
    const entries = index.update(many.slice(0, 3));
    expect(index.passages.count).toBeLessThan(before);
    const found = searchTexts(index, entries, { search: "topic2", clean: ({ text }) => text });
    expect(found.texts.map(({ handle }) => handle)).toEqual(["2"]);
  });

  it("takes any text and any query", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), fc.string({ unit: "binary" }), (given, query) => {
        const texts = given.map((text, number) => ({ handle: String(number), text }));
        const wanted = query.trim().toLowerCase();
        const found = search(query, texts);
        if (/^[\w ]{2,}$/.test(wanted) && !/\s\s/.test(wanted))
          for (const { handle, text } of texts)
            if (text.toLowerCase().includes(wanted)) expect(found).toContain(handle);
      }),
      { numRuns: runs(500) },
    );
  });
});
