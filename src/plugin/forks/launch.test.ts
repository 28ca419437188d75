import { describe, expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import type { HostCalls } from "../../hosts/opencode/host-calls.ts";
import { createToolOutputTrimming } from "../window/trim-output.ts";
import { createForks } from "./forks.ts";
import { launchFork } from "./launch.ts";

const REQUEST = {
  sessionId: "parent",
  caller: "build",
  prompt: "Look.",
  title: "look",
  model: { id: "m", provider: "p" },
  mayStart: async () => ({ status: "allowed" }) as const,
};

const AGENTS = [
  { name: "build", mode: "primary" },
  { name: "plan", mode: "primary" },
  { name: "coder", mode: "subagent" },
  { name: "secret", mode: "subagent", hidden: true },
];

/** Twenty results of 4,000 characters. */
const PARENT = Array.from({ length: 20 }, (_, turn) => [
  { info: { id: `u${turn}`, role: "user" }, parts: [{ type: "text", text: `Ask ${turn}` }] },
  {
    info: { id: `a${turn}`, role: "assistant", finish: "tool-calls" },
    parts: [
      {
        type: "tool",
        tool: "read",
        callID: `c${turn}`,
        state: {
          status: "completed",
          input: {},
          output: `${turn} grey `.repeat(500),
          title: "",
          metadata: {},
        },
      },
    ],
  },
]).flat();

/** One instance of the plugin, on a store of its own or that of another one. */
function createInstance(store?: string) {
  const { context, folder } = createTestContext(store === undefined ? {} : { store });
  const forks = createForks(context);
  const launch = async (): Promise<number | string> => {
    const launched = await launchFork({
      context,
      forks,
      request: REQUEST,
    });
    return launched.status === "launched" ? launched.record.number : launched.reason;
  };
  return { folder, forks, launch };
}

describe("launching a fork", () => {
  it.each([
    { options: {}, trims: true },
    { options: { fork: { profile: "documented" } }, trims: true },
    { options: { profile: "documented" }, trims: false },
  ])("as the documents say, with or without the rest of the plugin: $options", async ({ options, trims }) => {
    const { context } = createTestContext({ options, answer: { status: "ok", body: PARENT } });
    const launched = await launchFork({ context, forks: createForks(context), request: REQUEST });
    if (launched.status !== "launched") throw new Error(launched.reason);
    const isDocumented = context.options.fork.profile === "documented";
    const { inherited } = launched.record;
    expect(JSON.stringify(launched.record).includes("<task>")).toBe(!isDocumented);
    expect(inherited.mode).toBe("text");
    // The tiers: 5 whole, 10 of 3,000, 5 of 500 characters; by line, everything fits.
    const [fewest, most] = isDocumented ? [45_000, 60_000] : [70_000, 90_000];
    expect(inherited.chars).toBeGreaterThan(fewest);
    expect(inherited.chars).toBeLessThan(most);
    expect(createToolOutputTrimming(context).afterTool !== undefined).toBe(trims);
  });

  it("gives it a number that no other has, also if two programs fork one root at the same moment", async () => {
    const first = createInstance();
    const second = createInstance(first.folder);
    const numbers = await Promise.all([first, second, first, second].map(({ launch }) => launch()));
    expect(numbers.toSorted()).toEqual([1, 2, 3, 4]);
  });

  it.each([
    { agent: "nobody", says: 'There is no agent "nobody"' },
    { agent: "secret", says: 'There is no agent "secret"' },
    { agent: "plan", says: 'Only people choose agent "plan"' },
    { agent: "coder", says: "Not by task." },
    { agent: "build", says: "Not by task." },
  ])("does not start as agent $agent where that is not for sub-agents, or not allowed", async (given) => {
    const calls: HostCalls = {
      call: async (_, path) => ({ status: "ok", body: path === "/agent" ? AGENTS : {} }),
    };
    const { context } = createTestContext({ calls });
    const forks = createForks(context);
    const mayStart = async () => ({ status: "refused", reason: "Not by task." }) as const;
    const request = { ...REQUEST, agent: given.agent, mayStart };
    const launched = await launchFork({ context, forks, request });
    expect(launched).toMatchObject({ status: "refused", reason: expect.stringContaining(given.says) });
    expect(JSON.stringify(launched)).not.toMatch(/take one of: .*(?:secret|plan|build)/);
    expect(forks.keeper.all()).toEqual([]);
  });

  it.each([
    {
      denied: [],
      says: 'There is no agent "nobody". Leave it out for your own, or take one of: coder, tester.',
    },
    {
      denied: ["coder"],
      says: 'There is no agent "nobody". Leave it out for your own, or take one of: tester.',
    },
    { denied: ["build"], says: 'There is no agent "nobody". Take one of: coder, tester.' },
    { denied: ["coder", "tester"], says: 'There is no agent "nobody". Leave it out for your own.' },
    { denied: ["*"], says: 'There is no agent "nobody". No agent may be started here: do it yourself.' },
  ])("recommends no agent that a rule denies: $denied", async ({ denied, says }) => {
    const rules = denied.map((pattern) => ({ permission: "task", pattern, action: "deny" }));
    const agents = [...AGENTS, { name: "tester", mode: "all" }].map((agent) =>
      agent.name === "build" ? { ...agent, permission: rules.slice(0, 1) } : agent,
    );
    const calls: HostCalls = {
      call: async (_, path) => ({
        status: "ok",
        body: path === "/agent" ? agents : { permission: rules.slice(1) },
      }),
    };
    const { context } = createTestContext({ calls });
    const request = { ...REQUEST, agent: "nobody" };
    const launched = await launchFork({ context, forks: createForks(context), request });
    expect(launched).toEqual({ status: "refused", reason: says });
  });

  it("refuses more at once than the limits allow", async () => {
    const { forks, launch } = createInstance();
    const { maxRunning, maxQueued } = forks.limits;
    const answers = await Promise.all(Array.from({ length: maxRunning + maxQueued + 2 }, launch));
    expect(answers.filter((answer) => typeof answer === "string")).toHaveLength(2);
    expect(forks.keeper.all()).toHaveLength(maxRunning + maxQueued);
  });
});
