import { expect, it } from "vitest";
import { z } from "zod";
import type { ToolContext } from "../../hosts/opencode/hooks.ts";
import { defineTool } from "./define-tool.ts";

const CALL: ToolContext = {
  sessionID: "ses_1",
  messageID: "msg_1",
  agent: "build",
  abort: new AbortController().signal,
  metadata: () => {},
};

const tool = defineTool({
  description: "Say it again.",
  args: { text: z.string().min(1), times: z.number().max(3).optional() },
  run: async ({ text, times = 1 }) => text.repeat(times),
});

it("runs with arguments as it wants them", async () => {
  expect(await tool.execute({ text: "ab", times: 2 }, CALL)).toBe("abab");
});

it.each([
  { given: undefined, problem: "text: " },
  { given: { text: 5 }, problem: "text: " },
  { given: { text: "a", times: 9 }, problem: "times: " },
  { given: { text: "a", more: 1 }, problem: "more" },
])("tells the model what is wrong with $given, and does nothing", async ({ given, problem }) => {
  const answer = await tool.execute(given, CALL);
  expect(answer).toMatch(/^Nothing was done\. .*Correct the arguments and call again\.$/);
  expect(answer).toContain(problem);
});
