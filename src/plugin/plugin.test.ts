import { expect, it, vi } from "vitest";
import { createTestContext, hooksOf } from "../../test/rig/plugin-context.ts";
import { createPlugin } from "./plugin.ts";
import { createRequestJournal } from "./request-journal.ts";

const INFO = {
  id: "msg_1",
  sessionID: "ses_1",
  role: "assistant",
  providerID: "p",
  modelID: "m",
  time: { created: 1, completed: 2 },
  tokens: { input: 10, output: 5, reasoning: 1, cache: { read: 90, write: 3 } },
  cost: 0.25,
};

it("writes each finished request down once, with what came from the cache", async () => {
  const { context, entries } = createTestContext();
  const hooks = hooksOf([createRequestJournal(context)]);
  const tell = (info: unknown) => hooks.event?.({ event: { type: "message.updated", properties: { info } } });
  await tell({ ...INFO, time: { created: 1 } });
  await tell(INFO);
  await tell(INFO);
  await tell({ ...INFO, id: "msg_2", role: "user" });
  await tell({ ...INFO, id: "msg_3", summary: true, error: { name: "Aborted" }, tokens: "odd", cost: "odd" });
  for (const odd of [undefined, null, 5, {}, { role: "assistant" }]) await tell(odd);
  await expect.poll(async () => (await entries("ses_1")).length).toBe(2);
  expect(await entries("ses_1")).toMatchObject([
    {
      type: "request",
      messageId: "msg_1",
      model: "p/m",
      inputTokens: 10,
      outputTokens: 5,
      reasoningTokens: 1,
      cacheReadTokens: 90,
      cacheWriteTokens: 3,
      costUSD: 0.25,
    },
    { type: "request", messageId: "msg_3", summary: true, error: "Aborted", inputTokens: 0, costUSD: 0 },
  ]);
});

it("starts nothing with options that cannot be used, and says everything that is wrong with them", () => {
  const { host } = createTestContext().context;
  const said: string[] = [];
  const start = (options: object) =>
    createPlugin({ ...host, log: (_level, message) => said.push(message) }, options, { env: {} });
  expect(Object.keys(start({}).tools ?? {})).toContain("fork");
  expect(Object.keys(start({ prune: "on", fork: { maxRuning: 2 } }).tools ?? {})).toEqual([]);
  expect(said).toEqual([
    'Carryover does nothing until its options are corrected: prune is "on"; give "off" or "when-full" or "auto"; fork.maxRuning is not an option; did you mean maxRunning?',
  ]);
});

it("has no clock in a child: it would take over the forks of a parent that was killed", async () => {
  vi.useFakeTimers();
  try {
    const { host } = createTestContext().context;
    const timersOf = async (scope: { readonly scope?: "child" }): Promise<number> => {
      const plugin = createPlugin(host, {}, { env: {}, ...scope });
      const timers = vi.getTimerCount();
      await plugin.dispose();
      return timers;
    };
    expect(await timersOf({})).toBeGreaterThan(0);
    expect(await timersOf({ scope: "child" })).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
