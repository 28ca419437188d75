import { describe, expect, it } from "vitest";
import { agent, call, plainLines, talk } from "../../test/rig/fill-talk.ts";
import type { Transcript } from "../transcript/message.ts";
import { minimumsFor, missedMinimums } from "./tiers.ts";

describe("minimumsFor", () => {
  it.each([
    { budgetChars: 200_000, whole: 5, middle: 10, chars: [3_000, 500] },
    { budgetChars: 2_000_000, whole: 5, middle: 10, chars: [3_000, 500] },
    { budgetChars: 100_000, whole: 3, middle: 12, chars: [1_500, 250] },
    { budgetChars: 50_000, whole: 1, middle: 14, chars: [750, 125] },
    { budgetChars: 512, whole: 1, middle: 14, chars: [8, 1] },
  ])("of $budgetChars characters", ({ budgetChars, whole, middle, chars }) => {
    const [second = 0, third = 0] = chars;
    expect(minimumsFor(budgetChars)).toEqual({
      tier1Count: whole,
      tier2Count: middle,
      resultChars: { 1: Number.POSITIVE_INFINITY, 2: second, 3: third },
    });
  });
});

describe("missedMinimums", () => {
  const results = (outputs: readonly string[]): Transcript =>
    talk(...outputs.map((output, number) => agent(call("read", { path: `${number}` }, output))));
  const long = plainLines("nothing of note", 400);
  const budget = { budgetChars: 200_000 };

  it("names nothing where nothing is shorter", () => {
    const messages = results(Array.from({ length: 20 }, () => long));
    expect(missedMinimums(messages, messages, budget)).toEqual([]);
  });

  it("names results that are shorter than their minimum, newest first", () => {
    const before = results(Array.from({ length: 20 }, () => long));
    const lengths = [0, 499, 500, 2_999, 3_000, ...Array.from({ length: 12 }, () => 3_000), 4_000];
    const after = results(
      Array.from({ length: 20 }, (_, number) => long.slice(0, lengths[number] ?? long.length)),
    );
    expect(missedMinimums(before, after, budget)).toEqual([
      { handle: "m18/0", tier: 1, minimumChars: long.length, keptChars: 4_000 },
      { handle: "m17/0", tier: 1, minimumChars: long.length, keptChars: 3_000 },
      { handle: "m16/0", tier: 1, minimumChars: long.length, keptChars: 3_000 },
      { handle: "m2/0", tier: 3, minimumChars: 500, keptChars: 499 },
      { handle: "m1/0", tier: 3, minimumChars: 500, keptChars: 0 },
    ]);
  });

  it("asks nothing of results without a text, cleared ones, and those that something newer stands for", () => {
    const gone = { method: "head", originalChars: 900, omittedChars: 900, limitChars: 0 } as const;
    const before = talk(
      agent(call("read", {}, "")),
      agent({ ...call("read", {}, long), clearedAt: 1 }),
      agent({ ...call("read", {}, "[superseded by m9/0: read of a]"), cut: gone }),
    );
    expect(missedMinimums(before, [], budget)).toEqual([]);
  });
});
