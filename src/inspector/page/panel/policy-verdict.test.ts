import { describe, expect, it } from "vitest";
import type { KeptByPolicy, PolicyId, PolicyResult } from "../../view/types.ts";
import { policyVerdict } from "./policy-verdict.ts";

const result = (id: PolicyId, tokens: number, relativeCost = 1): PolicyResult => ({
  id,
  label: id,
  about: "",
  tokens,
  changeTokens: 0,
  cache: {
    pricesKnown: true,
    readMultiplier: 0.1,
    writeMultiplier: 1.25,
    readTokens: 0,
    writtenTokens: 0,
    firstBaseTokens: 0,
    appendOnlyBaseTokens: 0,
    relativeCost,
    expectedSteps: 12,
  },
});
const kept = (shares: Readonly<Partial<Record<PolicyId, number>>>): readonly KeptByPolicy[] =>
  Object.entries(shares).map(([policy, share]) => ({
    policy: policy as PolicyId,
    keptCount: share,
    neededCount: 100,
  }));

describe("the verdict on policies", () => {
  const results = [
    result("as-sent", 90_000),
    result("fill", 49_000, 0.7),
    result("fixed", 40_000, 0.5),
    result("lines", 48_000, 0.6),
    result("prune", 70_000, 0.4),
    result("last-n", 47_000, 0.8),
  ];

  it("names the one that keeps most within the budget, for the session and for a child", () => {
    const shares = kept({ "as-sent": 100, fill: 84, fixed: 61, lines: 78, prune: 99, "last-n": 71 });
    expect(policyVerdict(results, { kept: shares, budgetTokens: 50_000 })).toBe(
      "Use lines: it keeps 78 % of what was needed next (last-n 71 %), in 48,000 tokens at 60 % of the cost. For a child use fill: it keeps 84 % of what was needed next (fixed 61 %), in 49,000 tokens at 70 % of the cost.",
    );
  });

  it("takes the cheaper of two that keep about as much", () => {
    const shares = kept({ fill: 80, fixed: 79, lines: 70, "last-n": 71 });
    expect(policyVerdict(results, { kept: shares, budgetTokens: 50_000 })).toMatch(
      /^Use lines: .* For a child use fixed: /,
    );
  });

  it("changes nothing that fits, and says where nothing fits or nothing is known", () => {
    expect(policyVerdict(results, { kept: [], budgetTokens: 90_000 })).toMatch(
      /^Use none: the window of 90,000 tokens fits the budget/,
    );
    expect(policyVerdict(results, { kept: [], budgetTokens: 50_000 })).toMatch(
      /^Use lines: this session is too short to tell what is needed next, and it costs least/,
    );
    expect(policyVerdict(results, { kept: [], budgetTokens: 9_000 })).toBe(
      "None of them brings the window down to this budget.",
    );
    expect(policyVerdict([], { kept: [], budgetTokens: 1 })).toBe("");
  });
});
