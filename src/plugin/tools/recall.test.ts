import { expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { createTestForks } from "../../../test/rig/plugin-forks.ts";
import type { HostAnswer } from "../../hosts/opencode/calls.ts";
import type { RunningTool } from "../host/agent-host.ts";
import { createRecallTool } from "./recall.ts";

async function recall(args: unknown, answer: HostAnswer): Promise<string> {
  const { context } = createTestContext({ answer });
  await context.spills.put("The whole text.");
  const tool = createRecallTool({ context, forks: createTestForks(context) });
  const call: RunningTool = {
    sessionId: "ses_1",
    callId: "call_1",
    agent: "build",
    signal: new AbortController().signal,
    setTitle: () => {},
  };
  return (await tool.execute(args, call)) as string;
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
