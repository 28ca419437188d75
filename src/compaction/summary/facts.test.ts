import { describe, expect, it } from "vitest";
import { type CarriedFacts, readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { Message } from "../../transcript/message.ts";
import { collectFacts, factsBudget, renderFacts, selectUserWords } from "./facts.ts";
import { summaryMessage } from "./message.ts";
import { resolvePins } from "./pins.ts";
import { countCodePoints, createTextCleaner, cutCodePoints, firstCodePoints } from "./text.ts";

const cleaner = createTextCleaner();
const words = (...texts: readonly string[]) =>
  texts.map((text, index) => ({
    handle: `m${index + 1}`,
    text,
    ...(index === 0 && { first: true as const }),
  }));
const handles = (selected: ReturnType<typeof selectUserWords>) =>
  selected.words.map(({ handle }) => handle).join(" ");

describe("the user's words", () => {
  const said = words("f".repeat(50), "b".repeat(50), "c".repeat(500), "d".repeat(50));

  it.each([
    { maxChars: 0, kept: "m1" },
    { maxChars: 213, kept: "m1" },
    { maxChars: 214, kept: "m1 m4" },
    { maxChars: 271, kept: "m1 m2 m4" },
    { maxChars: 1_000, kept: "m1 m2 m3 m4" },
  ])("fit into $maxChars characters: the first always, then the newest, each whole", ({ maxChars, kept }) => {
    expect(handles(selectUserWords(said, { maxChars }))).toBe(kept);
  });

  it("hold what must be there, whatever it costs", () => {
    expect(handles(selectUserWords(said, { maxChars: 0, mustHandle: "m3" }))).toBe("m1 m3");
  });

  it("fit with their handles, and those that are left out are counted, however often they are carried on", () => {
    const budget = { wordsChars: 1_000, filesChars: 300, keyFactsChars: 500 };
    let facts: CarriedFacts | undefined;
    for (let turn = 0; turn < 200; turn++) {
      const message: Message = { id: `m${turn}-cqbo3b`, role: "user", parts: [] };
      facts = collectFacts({
        carried: facts,
        pins: [{ text: "see src/f5.ts", handle: "m5-cqbo3b" }],
        replaced: [],
        pieces: [{ message, handle: `${message.id}/0`, type: "typed", text: `see src/f${turn}.ts` }],
        firstHandle: "m0-cqbo3b",
        mustHandle: undefined,
        budget,
        cleaner,
      });
    }
    if (facts === undefined) throw new Error("no facts");
    const text = renderFacts(facts, {
      budget,
      share: 1,
      wordsShare: 1,
      pinsInPlace: [],
      pinsMaxChars: 1_000,
      mustHandle: undefined,
    });
    expect(text.slice(0, text.indexOf("</user_words>")).length).toBeLessThanOrEqual(1_000);
    expect(text).toContain("[m0-cqbo3b]\nsee src/f0.ts");
    expect(text).toContain("[m199-cqbo3b]\nsee src/f199.ts");
    const shown = text.slice(0, text.indexOf("</user_words>")).match(/^\[m/gm)?.length ?? 0;
    expect(shown).toBeGreaterThan(20);
    // The pin stands beside them.
    expect(text).toContain(`(${200 - 1 - shown} more messages of the user not shown`);
    expect(text.slice(text.indexOf("Seen on the way")).length).toBeLessThanOrEqual(500);
    expect(JSON.stringify(facts).length).toBeLessThan(4_500);
  });

  it("leave half of the room to what was said since, however long the first request is", () => {
    const [first = "", ...later] = ["x".repeat(7_000), "Use tabs.", "Never push.", "Keep the names."];
    const { words: kept, omitted } = selectUserWords(words(first, ...later), { maxChars: 2_000 });
    expect(kept.map(({ text }) => text)).toEqual([first, ...later]);
    expect(omitted).toEqual([]);
  });

  it("are whole where they fit together; where they do not, a pasted text keeps its ends and the others are whole", () => {
    const pasted = `look at this: ${"log line\n".repeat(500)}why?`;
    const said = words("Mend it.", "Use tabs.", pasted, "Never push.");
    expect(selectUserWords(said, { maxChars: 6_000 }).words).toEqual(said);
    const { words: kept, omitted } = selectUserWords(said, { maxChars: 4_000 });
    expect(omitted).toEqual([]);
    expect(kept.map(({ text }) => text)).toEqual([
      "Mend it.",
      "Use tabs.",
      expect.stringMatching(/^look at this: [\s\S]+\[truncated \d+ chars\][\s\S]+why\?$/),
      "Never push.",
    ]);
    expect(kept[2]?.text.length).toBeLessThan(1_100);
  });

  it("have a room of their own in the window, whatever is replaced beside them", () => {
    expect(factsBudget(2_000, 200_000)).toEqual({ wordsChars: 24_000, filesChars: 240, keyFactsChars: 480 });
    expect(factsBudget(12_000, 16_000).wordsChars).toBe(6_400);
    expect(factsBudget(12_000).wordsChars).toBe(4_800);
  });

  it("lose only the middle of a first request beyond 8,000 code points", () => {
    const [first] = selectUserWords(words("x".repeat(9_000)), { maxChars: 0 }).words;
    expect(first?.text).toMatch(/^x+\n\.\.\.\[truncated 1000 chars\]\.\.\.\nx+$/);
  });
});

describe("pins", () => {
  const transcript: readonly Message[] = [
    {
      id: "m1",
      role: "user",
      parts: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    },
    { id: "m2", role: "user", parts: [{ type: "text", text: "hidden" }], metadata: { agentVisible: false } },
  ];
  const resolve = (pins: Parameters<typeof resolvePins>[0]["pins"], carried = [{ text: "before" }]) =>
    resolvePins({ transcript, pins, marked: [], carried, cleaner });

  it("are texts, parts or messages, hidden ones too", () => {
    const { pins } = resolve([{ text: " t " }, { handle: "m1/1" }, { handle: "m1" }, { handle: "m2/0" }]);
    expect(pins.map(({ text }) => text)).toEqual(["t", "two", "one\ntwo", "hidden"]);
  });

  it("go on from the last compaction unless the caller says which", () => {
    expect(resolve(undefined).pins).toEqual([{ text: "before" }]);
    expect(resolve([]).pins).toEqual([]);
  });

  it("are remembered when their place is gone", () => {
    expect(resolve([{ handle: "gone/0" }]).unknownHandles).toEqual(["gone/0"]);
    const carried = [{ text: "as it was", handle: "gone/0" }];
    expect(resolve([{ handle: "gone/0" }], carried)).toEqual({ pins: carried, unknownHandles: [] });
    expect(resolve(undefined, carried).pins).toEqual(carried);
  });

  it("hold no secrets", () => {
    const secret = ["gh", "p_", "a81Kz9QmT4xVb7Lw2RnYc6Ud3Ej5Hs0Pf1Ag"].join("");
    expect(resolve([{ text: `use ${secret}` }]).pins[0]?.text).toMatch(/^use \[REDACTED:/);
  });
});

describe("code points", () => {
  it.each([
    { text: "abcdef", max: 6, cut: "abcdef" },
    {
      text: `${"a".repeat(60)}${"b".repeat(60)}`,
      max: 30,
      cut: `${"a".repeat(20)}\n...[truncated 90 chars]...\n${"b".repeat(10)}`,
    },
    {
      text: "😀".repeat(90),
      max: 30,
      cut: `${"😀".repeat(20)}\n...[truncated 60 chars]...\n${"😀".repeat(10)}`,
    },
    { text: "abcdefgh", max: 4, cut: "abcdefgh" },
  ])(
    "are what is counted when a text is cut, two thirds from its beginning: $text to $max",
    ({ text, max, cut }) => {
      expect(cutCodePoints(text, max)).toBe(cut);
    },
  );

  it("are whole, or halves that stood alone before", () => {
    expect(countCodePoints("a😀\ud83d")).toBe(3);
    expect(firstCodePoints("a😀b", 2)).toBe("a😀");
    expect(cutCodePoints(`${"😀".repeat(200)}`, 101).isWellFormed()).toBe(true);
  });
});

describe("carried facts from outside", () => {
  it.each([undefined, null, 7, "x", []])("are none in %j", (value) => {
    expect(readCarriedFacts(value)).toBeUndefined();
  });

  it("are taken where they have the right shape, and survive JSON", () => {
    const facts = {
      generation: 2,
      degraded: true as const,
      userWords: [{ handle: "m1", text: "x", first: true as const }],
      pins: [{ text: "p", handle: "m2" }, { text: "q" }],
      filesRead: ["a"],
      filesChanged: [],
      keyFacts: [{ type: "path" as const, text: "a.ts", handle: "m1/0", seen: 1 }],
    };
    expect(readCarriedFacts(JSON.parse(JSON.stringify(facts)))).toEqual(facts);
    const broken = {
      generation: "x",
      userWords: [{}, 7, ...facts.userWords],
      keyFacts: [{ type: "evil", text: "", handle: "" }],
      pins: "x",
    };
    expect(readCarriedFacts(broken)).toEqual({
      generation: 1,
      userWords: facts.userWords,
      pins: [],
      filesRead: [],
      filesChanged: [],
      keyFacts: [],
    });
  });

  it("are none in a value that cannot be read", () => {
    expect(
      readCarriedFacts({
        get pins() {
          throw new Error("no");
        },
      }),
    ).toBeUndefined();
  });
});

it.each([
  [["m1"], "stands for 1 earlier message (m1)."],
  [["m1", "m2"], "stands for 2 earlier messages (m1 to m2)."],
])("the summary of %j %s", (replacedIds, said) => {
  const { parts } = summaryMessage({
    id: "s1",
    representation: "user-summary",
    markerId: undefined,
    prose: "Done.",
    facts: { generation: 1, userWords: [], pins: [], filesRead: [], filesChanged: [], keyFacts: [] },
    factsText: "",
    replacedIds,
  });
  expect(JSON.stringify(parts)).toContain(said);
});
