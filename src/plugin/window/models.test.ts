import { expect, it } from "vitest";
import { hooksOf } from "../../../test/rig/plugin-context.ts";
import type { HostModel } from "../../hosts/opencode/hooks.ts";
import { cachePrices, createModelWindows, type ModelWindows } from "./prune.ts";

const MODEL = "provider/claude-x";

async function ask(windows: ModelWindows, model: Partial<HostModel>): Promise<void> {
  const input = { sessionID: "s", agent: "build", message: {} };
  const asked = { id: "claude-x", providerID: "provider", ...model };
  await hooksOf([windows.feature])["chat.params"]?.({ ...input, model: asked }, { options: {} });
}

it("reads thresholds in tokens, and as a share of the window once it is known", async () => {
  const windows = createModelWindows({
    prune: "auto",
    models: { [MODEL]: { pruneAt: "80%", keepRecent: 5_000, inheritAtMost: "12.5%" } },
  });
  expect(windows.thresholds(MODEL)).toEqual({
    pruneAtTokens: Number.POSITIVE_INFINITY,
    keepRecentTokens: 5_000,
    inheritAtMostTokens: undefined,
  });
  await ask(windows, { limit: { context: 200_000, output: 32_000 } });
  expect(windows.thresholds(MODEL)).toEqual({
    pruneAtTokens: 160_000,
    keepRecentTokens: 5_000,
    inheritAtMostTokens: 25_000,
  });
  expect(windows.thresholds("provider/other")).toEqual({
    pruneAtTokens: 0,
    keepRecentTokens: undefined,
    inheritAtMostTokens: undefined,
  });
});

it("takes the price of a cached prompt from the host, and the rest from the model's name", async () => {
  const windows = createModelWindows({ prune: "auto", models: {} });
  await ask(windows, {
    limit: { context: 100_000 },
    cost: { input: 3, output: 15, cache: { read: 0.3, write: 3.75 } },
  });
  expect(windows.windowOf(MODEL)).toMatchObject({
    limits: { contextTokens: 100_000, outputTokens: 0 },
    cache: { readMultiplier: expect.closeTo(0.1), writeMultiplier: 1.25, ttlMs: 300_000 },
  });
});

it.each([
  { name: "no limit", model: {} },
  { name: "a window of nothing", model: { limit: { context: 0 } } },
  { name: "a limit that is no number", model: { limit: { context: "big" } as never } },
])("knows no window from $name", async ({ model }) => {
  const windows = createModelWindows({ prune: "auto", models: {} });
  await ask(windows, model);
  expect(windows.windowOf(MODEL)).toBeUndefined();
});

it("names no price where the host has none", async () => {
  const windows = createModelWindows({ prune: "auto", models: {} });
  await ask(windows, { limit: { context: 8_000 }, cost: { input: 0, output: 0 } });
  expect(windows.windowOf(MODEL)).toEqual({ limits: { contextTokens: 8_000, outputTokens: 0 } });
});

it.each([
  {
    name: "the host's prices first",
    model: { id: "claude-x", prices: { input: 3, cacheRead: 0.3, cacheWrite: 3.75 } },
    prices: { cacheReadPrice: 0.3, cacheWritePrice: 3.75 },
  },
  {
    name: "a price without a cache is that of the input",
    model: { id: "x", prices: { input: 3, cacheRead: 0, cacheWrite: 0 } },
    prices: { cacheReadPrice: 3, cacheWritePrice: 3 },
  },
  {
    name: "those of the model's family where the host has none",
    model: { id: "claude-x" },
    prices: { cacheReadPrice: 0.1, cacheWritePrice: 1.25 },
  },
  {
    name: "none where nobody knows any",
    model: { id: "x" },
    prices: { cacheReadPrice: 0, cacheWritePrice: 0 },
  },
])("prices of the cache: $name", ({ model, prices }) => {
  expect(cachePrices({ provider: "p", ...model })).toEqual(prices);
});

it("begins to prune shortly before the host compacts, where nothing else is said", async () => {
  const windows = createModelWindows({ prune: "when-full", models: {} });
  expect(windows.thresholds(MODEL).pruneAtTokens).toBe(Number.POSITIVE_INFINITY);
  await ask(windows, { limit: { context: 200_000, output: 20_000 } });
  expect(windows.thresholds(MODEL).pruneAtTokens).toBe(162_000);
});
