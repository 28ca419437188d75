import { describe, expect, it } from "vitest";
import { createTestContext, hooksOf } from "../../../../test/rig/plugin-context.ts";
import { createForks } from "../forks.ts";
import { createGraftFeature } from "./inherited-messages.ts";

describe("a full fork that the provider does not read from its cache", () => {
  const MISSED = { cachedByParent: 9_000, readTokens: 0, costUSD: 0.3 };

  it.each([
    { name: "is told to people where it costs something", facts: MISSED, toasts: 1, entries: 1 },
    {
      name: "is only noted where it costs next to nothing",
      facts: { ...MISSED, costUSD: 0.01 },
      toasts: 0,
      entries: 1,
    },
    { name: "is only noted with a free model", facts: { ...MISSED, costUSD: 0 }, toasts: 0, entries: 1 },
    {
      name: "is nothing where nothing was ever cached",
      facts: { ...MISSED, cachedByParent: 0 },
      toasts: 0,
      entries: 0,
    },
    { name: "is nothing where it was read", facts: { ...MISSED, readTokens: 9_500 }, toasts: 0, entries: 0 },
  ])("$name", async ({ facts, toasts, entries }) => {
    const tokens = {
      input: 10_000 - facts.cachedByParent,
      output: 1,
      reasoning: 0,
      cache: { read: facts.cachedByParent, write: 0 },
    };
    const note = { id: "fk_1", number: 1, root: "ses_1", parent: "ses_1", run: 1, mode: "full" };
    let blob = "";
    const { context, entries: journal } = createTestContext({
      calls: {
        call: async () => ({
          status: "ok",
          body: { id: "ses_2", metadata: { carryover: { ...note, blob } } },
        }),
      },
    });
    const forks = createForks(context);
    const stored = await forks.requests.put({
      messages: [
        { info: { id: "m1", role: "user" }, parts: [{ type: "text", text: "Hi." }] },
        {
          info: { id: "m2", role: "assistant", finish: "stop", tokens },
          parts: [{ type: "text", text: "Hi." }],
        },
      ],
    });
    blob = stored.status === "failed" ? "" : stored.blob;
    const told: string[] = [];
    const notify = { ...context.notify, toastOnce: (message: string) => void told.push(message) };
    const hooks = hooksOf([createGraftFeature({ context: { ...context, notify }, forks })]);
    const info = {
      id: "m3",
      sessionID: "ses_2",
      role: "assistant",
      finish: "stop",
      time: { completed: 1 },
      cost: facts.costUSD,
      tokens: { input: 10_000, output: 1, reasoning: 0, cache: { read: facts.readTokens, write: 0 } },
    };
    await hooks.event?.({ event: { type: "message.updated", properties: { info } } });
    expect(told).toHaveLength(toasts);
    await expect
      .poll(
        async () =>
          (await journal("ses_2")).filter((entry) => JSON.stringify(entry).includes("prefix-miss")).length,
      )
      .toBe(entries);
  });
});
