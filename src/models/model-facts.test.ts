import { describe, expect, it } from "vitest";
import { modelFacts } from "./model-facts.ts";
import { type ModelRow, readModelRows } from "./model-row.ts";
import builtIn from "./models.json" with { type: "json" };

const MODEL_ROWS = builtIn as readonly ModelRow[];

describe("the rows of models.json", () => {
  it("have the form that a user's file has", () => {
    expect(readModelRows(JSON.parse(JSON.stringify(MODEL_ROWS)))).toEqual(MODEL_ROWS);
  });

  it.each(MODEL_ROWS.map((row) => [row.names[0], row] as const))(
    "of %s says who says so, and when that was read",
    (_, { family, source, readOn, tokenizer, afterEdit, resend }) => {
      expect({ family, source, readOn, tokenizer, afterEdit, resend }).not.toContain(undefined);
      expect(readOn).toMatch(/^2026-/);
    },
  );

  it("name no model twice, and each of them is found by its name", () => {
    const names = MODEL_ROWS.flatMap(({ names }) => names);
    expect(new Set(names).size).toBe(names.length);
    for (const row of MODEL_ROWS)
      for (const id of row.names) expect([id, modelFacts({ id }).name]).toEqual([id, row.names[0]]);
  });

  it.each(MODEL_ROWS.map((row) => [row.names[0] ?? "", row] as const))(
    "of %s never charges less for writing to the cache than for reading",
    (id) => {
      const { cache } = modelFacts({ id });
      if (cache === "none") return;
      expect(cache.readFactor).toBeGreaterThan(0);
      for (const life of cache.lives)
        expect(cache.writeFactor[life] ?? 1).toBeGreaterThanOrEqual(cache.readFactor);
    },
  );
});

describe("modelFacts", () => {
  it.each([
    ["claude-opus-5-5", "claude-opus-5-5"],
    ["us.anthropic.claude-opus-5-5-20260922-v1:0", "claude-opus-5-5"],
    ["anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"],
    ["anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3"],
    [
      "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-5-5-20260922-v1:0",
      "claude-sonnet-5-5",
    ],
    ["claude-opus-5-5@20260922", "claude-opus-5-5"],
    ["publishers/anthropic/models/claude-fable-5-2", "claude-fable-5-2"],
    ["anthropic/claude-opus-5.5:beta", "claude-opus-5-5"],
    ["openrouter/anthropic/claude-sonnet-5.5", "claude-sonnet-5-5"],
    ["claude-4.5-sonnet", "claude-sonnet-4"],
    ["claude-sonnet-4-20250514", "claude-sonnet-4"],
    ["claude-opus-4-6[1m]", "claude-opus-4-5"],
    ["claude-haiku-5-5-latest", "claude-haiku-5-5"],
    ["claude-opus-5", "claude-opus-5"],
    ["gpt-6.1-sol", "gpt-6-1-sol"],
    ["team-gpt-6.1-sol-eastus", "gpt-6-1-sol"],
    ["gpt-5.5-codex", "gpt-5-5"],
    ["gpt-5-2025-08-07", "gpt-5"],
    ["gpt-4-0613", "gpt-4"],
    ["openai/o3", "o3"],
    ["gpt-35-turbo", "gpt-3-5"],
    ["google/gemini-3.1-pro-preview", "gemini-3-1-pro"],
    ["models/gemini-2.5-pro", "gemini-2-5-pro"],
    ["deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-pro"],
    ["accounts/fireworks/models/glm-5p3", "glm-5-3"],
    ["zai-org/GLM-5.3-FP8", "glm-5-3"],
    ["moonshotai/kimi-k3", "kimi-k3"],
    ["x-ai/grok-4.6", "grok-4-5"],
  ])("knows %s", (id, name) => {
    expect(modelFacts({ id })).toMatchObject({ known: "name", name });
  });

  it.each([
    ["claude-opus-5-7", undefined, "claude-opus-5-5"],
    ["claude-sonnet-6", undefined, "claude-sonnet-5-5"],
    ["prod-main", "anthropic.messages", "claude-fable-5-2"],
    ["arn:aws:bedrock:us-east-1:1:inference-profile/anthropic.claude-opus-4-9", undefined, "claude-opus-4-7"],
    ["gpt-7-luna", undefined, "gpt-6-luna"],
    ["gpt-5-nano", undefined, "gpt-5-mini"],
    ["prod-main", "azure-openai.responses", "gpt-6-1-sol"],
    ["gemini-5-flash", "google.generative-ai", "gemini-3-8-flash"],
    ["kimi-k3.1", undefined, "kimi-k3"],
    ["chat", "deepseek", "deepseek-v4-pro"],
    ["glm-6", undefined, "glm-5-3"],
    ["grok-5", "xai", "grok-4-5"],
  ])("takes %s of %s for one like %s, and says so", (id, provider, name) => {
    const facts = modelFacts({ id, ...(provider && { provider }) });
    expect(facts).toMatchObject({ known: "family", name });
    expect(facts.prices).toBeUndefined();
    expect(facts.assumed).toEqual(["contextTokens", "outputTokens", "cache"]);
  });

  it.each([
    [{ id: "llama-3-70b", provider: "openai.chat" }],
    [{ id: "openai/gpt-oss-120b" }],
    [{ id: "google/gemma-3" }],
    [{ id: "prod-main", provider: "amazon-bedrock" }],
    [{ id: "" }],
    [{}],
  ])("is cautious about %j, and says so", (model) => {
    expect(modelFacts(model)).toEqual({
      known: "none",
      name: undefined,
      family: undefined,
      contextTokens: 128_000,
      outputTokens: 16_384,
      cache: {
        lives: ["5m"],
        readFactor: 0.1,
        writeFactor: { "5m": 1.25 },
        leastTokens: 1_024,
        stepTokens: 1,
      },
      afterEdit: "kept",
      resend: "optional",
      tokenizer: "other",
      tokenizerMeasured: false,
      assumed: ["contextTokens", "outputTokens", "cache"],
      remarks: {},
    });
  });

  it.each([
    ["claude-opus-4-6[1m]", 1_000_000],
    ["gpt-4-32k", 32_000],
    ["my-local-8k", 8_000],
    ["claude-opus-4-6", 200_000],
  ])("reads a window out of the name %s", (id, contextTokens) => {
    expect(modelFacts({ id }).contextTokens).toBe(contextTokens);
  });

  it("assumes no answer that would fill more than half of the window", () => {
    expect(modelFacts({ id: "gpt-4" })).toMatchObject({ contextTokens: 8_192, outputTokens: 4_096 });
    expect(modelFacts({ id: "gpt-4" }).assumed).toContain("outputTokens");
  });

  it.each([
    ["claude-sonnet-5-5", undefined, 0.1],
    ["claude-sonnet-5-5", "2026-10-06", 0.2],
    ["claude-sonnet-5-5", "2026-10-07", 0.1],
    ["gemini-4-argon", undefined, 0.1],
    ["gemini-4-argon", "2026-11-30", 0.1],
    ["gemini-4-argon", "2026-12-01", 0.2],
  ])("%s on %s has the price of that day", (id, on, cacheRead) => {
    expect(modelFacts({ id }, { on }).prices?.cacheRead).toBe(cacheRead);
  });

  it("fills what is not known of a model from its family, and says so", () => {
    expect(modelFacts({ id: "gpt-6.1-terra" })).toMatchObject({
      known: "name",
      contextTokens: 1_050_000,
      inputTokens: 922_000,
      prices: { input: 1 },
      assumed: ["contextTokens", "outputTokens"],
    });
  });

  describe("with rows of a user", () => {
    const id = "gpt-6.1-sol";
    const rows = (row: Omit<ModelRow, "names">): readonly ModelRow[] => [{ names: [id], ...row }];

    it("takes their cells before those that are built in, and keeps the others", () => {
      const own = { input: 1, output: 2, cacheRead: 0.5 };
      const facts = modelFacts({ id }, { rows: rows({ prices: [own], source: "my contract" }) });
      expect(facts).toMatchObject({ contextTokens: 1_050_000, prices: own, source: "my contract" });
      expect(facts.cache).toMatchObject({ readFactor: 0.5, writeFactor: {}, lives: ["30m"] });
    });

    it("has no limit of the input that belongs to another window", () => {
      const facts = modelFacts({ id }, { rows: rows({ contextTokens: 300_000 }) });
      expect(facts).toMatchObject({ contextTokens: 300_000, outputTokens: 128_000 });
      expect(facts.inputTokens).toBeUndefined();
    });

    it("knows a model that nobody else knows", () => {
      const facts = modelFacts(
        { id: "org/My-Model.2" },
        { rows: [{ names: ["my-model-2"], contextTokens: 40_000 }] },
      );
      expect(facts).toMatchObject({ known: "name", name: "my-model-2", contextTokens: 40_000 });
      expect(facts.assumed).toEqual(["outputTokens", "cache"]);
    });
  });
});

describe("readModelRows", () => {
  it("says everything that is wrong at once", () => {
    const wrong = [
      { names: [], contextTokens: -1 },
      { names: ["m"], prices: [{ input: 1, from: "soon" }], cache: "some", afterEdit: "gone", window: 3 },
    ];
    expect(() => readModelRows(wrong)).toThrow(
      /models\.0\.names .*models\.0\.contextTokens is -1.*models\.1\.prices\.0\.output is missing.*models\.1\.prices\.0\.from is "soon".*models\.1\.cache.*models\.1\.afterEdit is "gone".*models\.1\.window is not an option/s,
    );
  });

  it("refuses what is no list", () => {
    expect(() => readModelRows({})).toThrow("give a list");
  });
});
