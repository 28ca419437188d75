import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import type { HostAnswer } from "../../hosts/opencode/sessions.ts";
import type { RunningTool } from "../host/agent-host.ts";
import { createRecallTool } from "./tools.ts";

const CALL: RunningTool = {
  sessionId: "ses_1",
  callId: "call_1",
  agent: "build",
  signal: new AbortController().signal,
  setTitle: () => {},
  mayStart: async () => ({ status: "allowed" }),
};

async function recall(args: unknown, answer: HostAnswer): Promise<string> {
  const { context } = createTestContext({ answer });
  await context.spills.put("The whole text.");
  const tool = createRecallTool({ context, forks: createTestForks(context) });
  return (await tool.execute(args, CALL)) as string;
}

const BUSY: HostAnswer = { status: "failed", code: "no-answer", reason: "the host is busy" };
const EMPTY: HostAnswer = { status: "ok", body: [] };

it.each([{ handle: "msg_9/0" }, { search: "port" }])(
  "does not say that nothing is kept while the conversation cannot be read: %j",
  async (args) => {
    expect(await recall(args, BUSY)).toContain("could not be read now (the host is busy)");
    expect(await recall(args, EMPTY)).toMatch(/Nothing/);
  },
);

it("gives a spilled text also while the conversation cannot be read", async () => {
  const { context } = createTestContext();
  const stored = await context.spills.put("The whole text.");
  if (stored.status === "failed") throw new Error(stored.reason);
  expect(await recall({ handle: stored.handle }, BUSY)).toContain("The whole text.");
});

it("reads a spilled text without asking for the conversation, and normalises it", async () => {
  let calls = 0;
  const { context } = createTestContext({
    calls: {
      async call() {
        calls += 1;
        return EMPTY;
      },
    },
  });
  const stored = await context.spills.put("\u001b[31mred\u001b[0m text");
  if (stored.status === "failed") throw new Error(stored.reason);
  const tool = createRecallTool({ context, forks: createTestForks(context) });
  expect(await tool.execute({ handle: stored.handle }, CALL)).toBe("red text");
  expect(calls).toBe(0);
});

it("gives characters of one long line, says where to read on, and what there is beyond the end", async () => {
  const { context } = createTestContext();
  const line = Array.from({ length: 3_000 }, (_, index) => `${index},`).join("");
  const stored = await context.spills.put(line);
  if (stored.status === "failed") throw new Error(stored.reason);
  const tool = createRecallTool({ context, forks: createTestForks(context) });
  const read = async (range: string): Promise<string> =>
    (await tool.execute({ handle: stored.handle, range }, CALL)) as string;
  expect(await read("c100-120")).toBe(line.slice(100, 120));
  const long = await read("c50-");
  const next = Number(/^\[characters 50 to (\d+) of \d+; read on from character \1\]\n/.exec(long)?.[1]);
  expect(long.slice(long.indexOf("\n") + 1)).toBe(line.slice(50, next));
  expect(next).toBeGreaterThan(7_000);
  expect(await read("2-")).toBe(
    `Nothing is in the range 2-: the text has 1 line, ${line.length} characters.`,
  );
});
