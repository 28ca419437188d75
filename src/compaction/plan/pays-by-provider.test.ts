import { describe, expect, it } from "vitest";
import { modelFacts } from "../../models/model-facts.ts";
import { type CompactionCosts, paysByProvider } from "./pays-by-provider.ts";

const opus = modelFacts({ id: "claude-opus-5-5" });
const tokens = { read: 150_000, summary: 2_000, ownRequest: 0, lostThoughts: 5_000 };
const pays = (costs: Partial<Omit<CompactionCosts, "tokens">>, other: Partial<typeof tokens> = {}) =>
  paysByProvider({ model: opus, cache: "warm", ...costs, tokens: { ...tokens, ...other } });

describe("paysByProvider", () => {
  // Opus 5.5 per million tokens: read .20, output 20. 150,000 read are $0.030.
  it.each([
    ["1,600 thought tokens are $0.032", { lostThoughts: 1_600 }, true],
    ["1,400 are $0.028", { lostThoughts: 1_400 }, false],
    ["our own request of 10,000 tokens at 4 is $0.040", { lostThoughts: 0, ownRequest: 10_000 }, true],
    ["nothing is lost, and we ask nobody", { lostThoughts: 0 }, false],
  ])("compares what the cached messages cost with what is lost: %s", (_, other, expected) => {
    expect(pays({}, other)).toBe(expected);
  });

  it("is never true once the cache is gone", () => {
    expect(pays({ cache: "cold" }, { lostThoughts: 1_000_000 })).toBe(false);
  });

  it("counts what a long prompt costs more", () => {
    const haiku = modelFacts({ id: "claude-haiku-5-5" });
    // Read .01 and output .50, five times that above 100,000: 150,000 read are $0.0075, and a summary of 2,000 is $0.005.
    expect(pays({ model: haiku }, { lostThoughts: 20_000 })).toBe(false);
    expect(pays({ model: haiku }, { lostThoughts: 25_000 })).toBe(true);
    expect(pays({ model: haiku }, { read: 90_000, lostThoughts: 5_000 })).toBe(true);
  });

  it("counts our summary at the prices of the model that writes it", () => {
    const writer = modelFacts({ id: "claude-haiku-5-5" });
    expect(pays({}, { ownRequest: 100_000, lostThoughts: 0 })).toBe(true);
    expect(pays({ writer }, { ownRequest: 100_000, lostThoughts: 0 })).toBe(false);
  });

  it("is not true where prices are not known", () => {
    expect(pays({ model: modelFacts({ id: "claude-opus-6" }) }, { lostThoughts: 1_000_000 })).toBe(false);
  });
});
