import { describe, expect, it } from "vitest";
import { classifyProviderError } from "../compaction/provider-errors/classify-provider-error.ts";
import type { ContextEstimate } from "../transcript/estimate-context.ts";
import { afterRefusal, afterStep, type RecoveryState, type Refusal } from "./recovery.ts";

const estimateOf = (tokens: number): ContextEstimate => ({
  tokens,
  low: tokens * 0.9,
  high: Math.ceil(tokens * 1.2),
  source: "heuristic",
  usageTokens: 0,
  trailingTokens: tokens,
  lastUsageIndex: -1,
});

function refusal(message: string, change: Partial<Refusal> = {}): Refusal {
  const error = { status: 400, message };
  return {
    error,
    report: classifyProviderError(error),
    estimate: estimateOf(50_000),
    limitTokens: 36_000,
    windowTokens: 40_000,
    auto: "on",
    ...change,
  };
}

const start = (message: string, change: Partial<Refusal> = {}): RecoveryState => {
  const state = afterRefusal(undefined, refusal(message, change));
  if (state === undefined) throw new Error("no recovery");
  return state;
};

describe("the limit that a recovery aims at", () => {
  it.each([
    {
      name: "what is configured, when the error gives no figures",
      message: "prompt is too long",
      limit: 36_000,
    },
    {
      name: "less, when the provider counts more tokens than we do",
      message: "prompt is too long: 75000 tokens > 60000 maximum",
      limit: 24_000,
    },
    {
      name: "what the provider names, as a share of what was sent",
      message: "prompt is too long: 50000 tokens > 10000 maximum",
      limit: 10_000,
    },
    {
      name: "what is configured, when the named window is absurd",
      message: "maximum context length is 3 tokens, but you requested 50000 tokens",
      limit: 36_000,
    },
  ])("is $name", ({ message, limit }) => {
    expect(start(message).limitTokens).toBe(limit);
  });

  it("is below what was refused although it should have fitted", () => {
    expect(start("prompt is too long", { estimate: estimateOf(10_000) }).limitTokens).toBe(8_400);
    expect(start("prompt is too long", { limitTokens: Number.POSITIVE_INFINITY }).limitTokens).toBe(42_000);
  });

  it("never rises from one refusal to the next", () => {
    const first = start("prompt is too long: 50000 tokens > 10000 maximum");
    const second = afterRefusal(afterStep(first, "prune"), refusal("prompt is too long"));
    expect(second?.limitTokens).toBeLessThanOrEqual(first.limitTokens);
  });
});

describe("afterRefusal", () => {
  it("keeps the first error and counts the refusals", () => {
    const first = start("prompt is too long");
    const second = afterRefusal(afterStep(first, "prune"), refusal("prompt is too long: again"));
    expect(second).toMatchObject({ error: first.error, refusals: 2, tried: ["prune"], window: "as-refused" });
  });

  it("leaves a recovery alone when another kind of error comes in between", () => {
    const first = start("prompt is too long");
    const other = {
      error: 1,
      report: classifyProviderError({ status: 500, message: "Internal server error" }),
    };
    expect(afterRefusal(first, refusal("", other))).toBe(first);
    expect(afterRefusal(undefined, refusal("", other))).toBeUndefined();
  });

  it.each(["local-summary", "cut-oversized", "last-request"] as const)(
    "climbs on to a lower limit when a request is refused that was cut down to the step %s",
    (step) => {
      const first = afterStep(start("prompt is too long"), "compact");
      const cut = afterRefusal(
        afterStep(first, step),
        refusal("prompt is too long", { estimate: estimateOf(9_000) }),
      );
      expect(cut).toMatchObject({ phase: { type: "climb" }, window: "as-refused" });
      expect(cut?.limitTokens).toBeLessThan(9_000);
      expect(cut?.tried).toEqual(step === "local-summary" ? ["compact", "local-summary"] : ["compact"]);
    },
  );

  it("a step that changed nothing does not make the window smaller", () => {
    expect(afterStep(start("prompt is too long"), "compact", "nothing").window).toBe("as-refused");
  });

  it("climbs when there is no room worth having for the answer", () => {
    const message = "input length and `max_tokens` exceed context limit: 39900 + 32000 > 40000";
    expect(start(message)).toMatchObject({ phase: { type: "climb" }, output: "as-asked" });
  });
});
