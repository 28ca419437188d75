import { describe, expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createOpencodeHost } from "../../hosts/opencode/server.ts";
import type { AgentHost } from "../host/agent-host.ts";
import { createPluginContext } from "./context.ts";
import { readPluginOptions } from "./options.ts";

it("an entry that cannot be written is logged, and nobody has to wait for it", async () => {
  const { context, logged } = createTestContext({
    answer: { status: "failed", code: 500, reason: "broken" },
  });
  context.record("ses_1", { type: "odd", value: 1n });
  await expect.poll(() => logged).toEqual([expect.stringContaining("journal not written")]);
});

it("a host that breaks its word costs an entry, and nothing else", async () => {
  const { folder } = createTestContext();
  const logged: string[] = [];
  const context = createPluginContext({
    host: {
      ...createOpencodeHost({
        calls: { call: () => Promise.reject(new Error("thrown")) },
        directory: folder,
        env: {},
      }),
      log: (_, message) => void logged.push(message),
    },
    options: readPluginOptions({ store: folder }).options,
    env: {},
  });
  context.record("ses_1", { type: "odd" });
  await expect.poll(() => logged).toEqual(["journal not written"]);
});

it("entries of one session are written in the order in which they came", async () => {
  const { context, entries } = createTestContext();
  for (let number = 0; number < 20; number++) context.record("ses_1", { type: `entry ${number}` });
  await expect.poll(async () => (await entries("ses_1")).length).toBe(20);
  const names = (await entries("ses_1")).map((entry) => "name" in entry && entry.name);
  expect(names).toEqual(Array.from({ length: 20 }, (_, number) => `entry ${number}`));
});

describe("where only toasts reach a person", () => {
  function toastsOnly() {
    const { context } = createTestContext();
    const said: string[] = [];
    const logged: string[] = [];
    const screen = { ...context.host.screen, reach: "toasts", toast: (text: string) => said.push(text) };
    const host = { ...context.host, screen, log: (_: string, text: string) => logged.push(text) };
    const { options, env } = context;
    return { said, logged, ...createPluginContext({ host: host as AgentHost, options, env }) };
  }

  it("what became of the window is said the first time in a session", async () => {
    const { show, said } = toastsOnly();
    const cut = { type: "line", label: "cut", text: "shell: the model reads 1 of 2 KB" } as const;
    for (const key of ["a", "b"]) show({ ...cut, sessionId: "ses_1", key });
    show({ ...cut, label: "pruned", text: "4 old outputs", sessionId: "ses_1", key: "c" });
    show({ ...cut, label: "Carryover", text: "a fork asks", sessionId: "ses_1", key: "d" });
    await expect
      .poll(() => said, { timeout: 3_000 })
      .toEqual(["cut: shell: the model reads 1 of 2 KB\npruned: 4 old outputs"]);
  });

  it("forks are told of by somebody else, and logged", async () => {
    const { notify, said, logged } = toastsOnly();
    notify.toastOf("Fork 1 (a)", "completed", "success");
    notify.toastOnce("The disk is full.", "error");
    await expect.poll(() => said, { timeout: 3_000 }).toEqual(["The disk is full."]);
    expect(logged).toEqual(["Fork 1 (a) completed"]);
  });
});
