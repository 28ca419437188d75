import { expect, it } from "vitest";
import type { ForkSetup } from "../forks/forks.ts";
import type { RunningTool } from "../host/agent-host.ts";
import { defineTool } from "./define-tool.ts";

const CALL: RunningTool = {
  sessionId: "ses_1",
  callId: "call_1",
  agent: "build",
  signal: new AbortController().signal,
  setTitle: () => {},
  mayStart: async () => ({ status: "allowed" }),
};

const logged: string[] = [];
const setup = {
  context: { notify: { log: (_: string, message: string) => void logged.push(message) } },
} as unknown as ForkSetup;

const tool = defineTool(setup, {
  description: "Say it again.",
  parameters: {
    text: { type: "text", isRequired: true },
    times: { type: "number", least: 0, most: 3 },
  },
  run: async ({ text, times = 1 }) => text.repeat(times),
});

it("runs with arguments as it wants them", async () => {
  expect(await tool.execute({ text: "ab", times: 2 }, CALL)).toBe("abab");
});

it.each([
  { given: undefined, problem: "text is missing" },
  { given: { text: 5 }, problem: "text " },
  { given: { text: "a", times: 9 }, problem: "times " },
  { given: { text: "a", more: 1 }, problem: "more" },
])("tells the model what is wrong with $given, and does nothing", async ({ given, problem }) => {
  const answer = await tool.execute(given, CALL);
  expect(answer).toMatch(/^Nothing was done\. .*Correct the arguments and call again\.$/);
  expect(answer).toContain(problem);
});

it("that fails says so to the model and in the log", async () => {
  const broken = defineTool(setup, {
    description: "Break.",
    parameters: {},
    run: () => Promise.reject(new Error("broken")),
  });
  expect(await broken.execute({}, CALL)).toContain("This did not work: Error: broken.");
  expect(logged).toEqual(["a tool failed"]);
});
