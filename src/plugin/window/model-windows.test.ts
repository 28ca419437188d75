import { expect, it } from "vitest";
import { hooksOf } from "../../../test/rig/plugin-context.ts";
import type { HostModel } from "../../hosts/opencode/hooks.ts";
import { createModelWindows, type ModelWindows } from "./model-windows.ts";

const MODEL = "provider/claude-x";

async function ask(windows: ModelWindows, model: Partial<HostModel>): Promise<void> {
  const input = { sessionID: "s", agent: "build", message: {} };
  const asked = { id: "claude-x", providerID: "provider", ...model };
  await hooksOf([windows.feature])["chat.params"]?.({ ...input, model: asked }, { options: {} });
}

it("reads thresholds in tokens, and as a share of the window once it is known", async () => {
  const windows = createModelWindows({
    prune: "auto",
    models: { [MODEL]: { pruneAt: "80%", keepTokens: 5_000 } },
  });
  expect(windows.thresholds(MODEL)).toEqual({
    pruneAtTokens: Number.POSITIVE_INFINITY,
    keepTokens: 5_000,
  });
  await ask(windows, { limit: { context: 200_000, output: 32_000 } });
  expect(windows.thresholds(MODEL)).toEqual({
    pruneAtTokens: 160_000,
    keepTokens: 5_000,
  });
  expect(windows.thresholds("provider/other")).toEqual({
    pruneAtTokens: 0,
    keepTokens: undefined,
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
    isNamed: true,
    cache: { readMultiplier: expect.closeTo(0.1), writeMultiplier: 1.25, ttlMs: 300_000 },
  });
});

it.each([
  { name: "no limit", model: {} },
  { name: "a window of nothing", model: { limit: { context: 0 } } },
  { name: "a limit that is no number", model: { limit: { context: "big" } as never } },
])(
  "with $name takes the window that is known of the model, and none of one that nobody knows",
  async ({ model }) => {
    const windows = createModelWindows({ prune: "auto", models: {} });
    await ask(windows, { ...model, id: "claude-opus-5-5" });
    expect(windows.windowOf("provider/claude-opus-5-5")).toMatchObject({
      limits: { contextTokens: 1_000_000, outputTokens: 128_000 },
      isNamed: false,
    });
    await ask(windows, { ...model, id: "nobodys" });
    expect(windows.windowOf("provider/nobodys")).toBeUndefined();
  },
);

it("raises a window that nobody named, and no other", async () => {
  const windows = createModelWindows({ prune: "auto", models: {} });
  await ask(windows, { id: "claude-opus-4-6" });
  windows.raise("provider/claude-opus-4-6", 1_000_000);
  await ask(windows, { id: "claude-opus-4-6" });
  expect(windows.windowOf("provider/claude-opus-4-6")?.limits.contextTokens).toBe(1_000_000);
  await ask(windows, { limit: { context: 100_000 } });
  windows.raise(MODEL, 200_000);
  expect(windows.windowOf(MODEL)?.limits.contextTokens).toBe(100_000);
});

it("takes the facts of the options before those of the host", async () => {
  const facts = { contextTokens: 50_000, prices: [{ input: 1, output: 1, cacheRead: 0.4 }] };
  const windows = createModelWindows({ prune: "auto", models: { [MODEL]: { facts } } });
  await ask(windows, {
    limit: { context: 100_000 },
    cost: { input: 3, output: 15, cache: { read: 0.3, write: 3.75 } },
  });
  expect(windows.windowOf(MODEL)).toMatchObject({
    limits: { contextTokens: 50_000 },
    isNamed: true,
    cache: { readMultiplier: 0.4, writeMultiplier: 1 },
  });
});

it.each([
  {
    name: "the host's prices first",
    model: { id: "claude-x", prices: { input: 3, cacheRead: 0.6, cacheWrite: 3 } },
    prices: { readMultiplier: 0.6 / 3, writeMultiplier: 1 },
  },
  {
    name: "what is known of the model where the host has no price of a cache",
    model: { id: "gpt-5", prices: { input: 3, cacheRead: 0, cacheWrite: 0 } },
    prices: { readMultiplier: 0.1, writeMultiplier: 1 },
  },
  {
    name: "those of the model where the host has none",
    model: { id: "claude-opus-5-5" },
    prices: { readMultiplier: 0.05, writeMultiplier: 1.25 },
  },
  {
    name: "usual ones where nobody knows any",
    model: { id: "x" },
    prices: { readMultiplier: 0.1, writeMultiplier: 1.25 },
  },
])("prices of the cache: $name", ({ model, prices }) => {
  const windows = createModelWindows({ prune: "auto", models: {} });
  expect(windows.cacheOf({ provider: "p", ...model })).toMatchObject(prices);
});

it("begins to prune shortly before the host compacts, where nothing else is said", async () => {
  const windows = createModelWindows({ prune: "when-full", models: {} });
  expect(windows.thresholds(MODEL).pruneAtTokens).toBe(Number.POSITIVE_INFINITY);
  await ask(windows, { limit: { context: 200_000, output: 20_000 } });
  expect(windows.thresholds(MODEL).pruneAtTokens).toBe(162_000);
});
