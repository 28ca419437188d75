import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createOpencodeHost } from "../../hosts/opencode/host.ts";
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
