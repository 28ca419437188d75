import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../test/rig/notation.ts";
import { type CarriedFacts, KEY_FACT_TYPES, readCarriedFacts, readPins } from "./carried-facts.ts";

const FACTS: CarriedFacts = {
  generation: 3,
  degraded: true,
  userWords: [
    { handle: "m1/0", text: "Fold the wing.", first: true },
    { handle: "m4/0", text: "And the tail." },
  ],
  omittedWords: 7,
  pins: [{ text: "Never push.", handle: "m2/0", marked: true }, { text: "Speak German." }],
  filesRead: ["a.ts"],
  filesChanged: ["b.ts"],
  filesCreated: ["c.ts"],
  filesDeleted: ["d.ts"],
  keyFacts: KEY_FACT_TYPES.map((type) => ({ type, text: `a ${type}`, handle: "m3/1", seen: 2 })),
};

const NOTHING: CarriedFacts = {
  generation: 1,
  userWords: [],
  pins: [],
  filesRead: [],
  filesChanged: [],
  keyFacts: [],
};

describe("readCarriedFacts", () => {
  it("gives back what was stored, and no more", () => {
    const stored = deepFreeze({ ...structuredClone(FACTS), more: 1 });
    expect(readCarriedFacts(stored)).toEqual(FACTS);
  });

  it.each([undefined, null, 1, "facts", [], [FACTS]])("is undefined for %j", (value) => {
    expect(readCarriedFacts(value)).toBeUndefined();
  });

  it("is undefined for an object that throws when it is read", () => {
    const hostile = {
      get pins(): never {
        throw new Error("no");
      },
    };
    expect(readCarriedFacts(hostile)).toBeUndefined();
  });

  it("takes an empty object for no facts of the first generation", () => {
    expect(readCarriedFacts({})).toEqual(NOTHING);
  });

  it.each([
    { generation: 0, read: 1 },
    { generation: -4, read: 1 },
    { generation: 1.5, read: 1 },
    { generation: "2", read: 1 },
    { generation: 2, read: 2 },
  ])("reads generation $generation as $read", ({ generation, read }) => {
    expect(readCarriedFacts({ generation })?.generation).toBe(read);
  });

  it.each([0, -1, 1.5, "7", null])("takes %j for no count of words that were left out", (omittedWords) => {
    expect(readCarriedFacts({ omittedWords })).toEqual(NOTHING);
  });

  it("leaves out every entry that has the wrong shape", () => {
    const wrong = {
      degraded: 1,
      userWords: [1, null, ["x"], { text: "x" }, { handle: "h" }, { text: "x", handle: "h", first: 1 }],
      pins: ["x", null, {}, { text: 1 }, { text: "x", handle: 1 }],
      filesRead: [1, null, "a.ts", {}],
      filesChanged: "b.ts",
      keyFacts: [
        null,
        { type: "path", text: "x" },
        { type: "path", handle: "h" },
        { type: "other", text: "x", handle: "h" },
        { type: "path", text: "x", handle: "h", seen: 0 },
        { type: "sha", text: "x", handle: "h", seen: "2" },
      ],
    };
    expect(readCarriedFacts(deepFreeze(wrong))).toEqual({
      generation: 1,
      userWords: [{ text: "x", handle: "h" }],
      pins: [{ text: "x" }],
      filesRead: ["a.ts"],
      filesChanged: [],
      keyFacts: [
        { type: "path", text: "x", handle: "h", seen: 1 },
        { type: "sha", text: "x", handle: "h", seen: 1 },
      ],
    });
  });

  it("reads the first 2,000 entries of a list", () => {
    const filesRead = Array.from({ length: 2_001 }, (_, number) => `${number}.ts`);
    expect(readCarriedFacts({ filesRead })?.filesRead).toEqual(filesRead.slice(0, 2_000));
  });
});

describe("readPins", () => {
  it("gives back pins, and drops what is none", () => {
    expect(readPins(deepFreeze([...FACTS.pins, { handle: "m9/0" }, null]))).toEqual(FACTS.pins);
    expect(readPins("Never push.")).toEqual([]);
    expect(readPins([{ text: "Never push.", marked: "yes" }])).toStrictEqual([{ text: "Never push." }]);
  });
});
