import { expect } from "vitest";
import { LIMIT_REASON } from "../../../src/fork/life/end.ts";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { childrenOf, deliveriesOf, requestWith, textOf, waitForDeliveries } from "./fork-support.ts";

const FEW = { inputTokens: 1_000, outputTokens: 10 };

const shared = shareRig({ plugin: {} });

scenario(
  "of twenty-one forks four run, sixteen wait and one is refused",
  {
    shared,
    proves: "never more than four at once; all twenty results arrive, each once",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      say("The report.", { family: "child", times: "always", delayMs: 1_500, usage: FEW }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always", usage: FEW }),
    ]);
    const forks = Array.from({ length: 21 }, (_, index) => ({
      tool: "fork",
      input: { prompt: `Task ${index}.` },
    }));
    await rig.turn(id, "Fork often.", [callAll(forks, { usage: FEW }), say("Forked.", { usage: FEW })]);
    const answers = textOf(requestWith(rig, id, "more are not allowed"));
    expect(answers.split("more are not allowed")).toHaveLength(2);
    expect(answers.split("is queued and starts when another ends")).toHaveLength(17);
    await rig.waitFor(async () => new Set(await deliveriesOf(rig, id)).size === 20, {
      what: "twenty results",
    });
    expect(await deliveriesOf(rig, id)).toHaveLength(20);
    const times = rig.requests({ parentSessionId: id }).map(({ atMs }) => atMs);
    for (const atMs of times) {
      expect(times.filter((other) => other >= atMs && other < atMs + 1_400).length).toBeLessThanOrEqual(4);
    }
    expect(await childrenOf(rig, id)).toHaveLength(20);
  },
);

scenario(
  "a fork that is out of time reports, and one that does not is ended with its last text",
  {
    plugin: { fork: { timeoutMin: 0.05, graceS: 15 } },
    why: "the time must be up within a test; by default it is 20 minutes",
    twin: { none: "it would take twenty minutes" },
    proves: "wrap-up turn; after the grace a partial result",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      call("bash", { command: "sleep 5", description: "Wait" }, { family: "child", contains: "Good task." }),
      say("What I had until then.", { family: "child", contains: LIMIT_REASON.time }),
      call(
        "bash",
        { command: "sleep 60", description: "Wait" },
        { family: "child", contains: "Bad task.", text: "A first thought." },
      ),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
    ]);
    await rig.turn(id, "Fork.", [
      callAll(["Good task.", "Bad task."].map((prompt) => ({ tool: "fork", input: { prompt } }))),
      say("Forked."),
    ]);
    const delivered = await waitForDeliveries(rig, id, 2);
    expect(new Set(delivered).size).toBe(2);
    const all = rig.requests({ sessionId: id }).map(textOf).join();
    expect(all).toContain("What I had until then.");
    expect(all).toContain('state=\\"timed-out\\"');
    expect(all).toContain("A first thought.");
  },
);

scenario(
  "a fork that repeats itself, and one with too many calls, are told to report",
  {
    plugin: { fork: { maxToolCalls: 4, repeatLimit: 3 } },
    why: "both limits must be reached within a few calls; by default they are 200 and 5",
    twin: "a fork that makes the same call five times is told to report",
    proves: "both limits stop the work and keep the report",
  },
  async (rig) => {
    const id = await rig.newSession();
    const same = { command: "echo again", description: "Again" };
    rig.model.script([
      say("I had repeated myself.", { family: "child", contains: LIMIT_REASON["repeated-call"] }),
      say("I had called too often.", { family: "child", contains: LIMIT_REASON["tool-calls"] }),
      ...[1, 2, 3].map(() => call("bash", same, { family: "child", contains: "Repeat." })),
      ...[1, 2, 3, 4].map((number) =>
        call(
          "bash",
          { command: `echo ${number}`, description: "Count" },
          { family: "child", contains: "Count." },
        ),
      ),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
    ]);
    await rig.turn(id, "Fork.", [
      callAll(["Repeat.", "Count."].map((prompt) => ({ tool: "fork", input: { prompt } }))),
      say("Forked."),
    ]);
    await waitForDeliveries(rig, id, 2);
    const all = rig.requests({ sessionId: id }).map(textOf).join();
    expect(all).toContain("I had repeated myself.");
    expect(all).toContain("I had called too often.");
  },
);

scenario(
  "a fork that makes the same call five times is told to report",
  { shared, proves: "a child that is stuck ends with what it has" },
  async (rig) => {
    const id = await rig.newSession();
    const same = { command: "echo again", description: "Again" };
    rig.model.script([
      say("I had repeated myself.", { family: "child", contains: LIMIT_REASON["repeated-call"] }),
      ...[1, 2, 3, 4, 5].map(() => call("bash", same, { family: "child", contains: "Repeat." })),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Repeat." }), say("Forked.")]);
    await waitForDeliveries(rig, id, 1);
    expect(rig.requests({ sessionId: id }).map(textOf).join()).toContain("I had repeated myself.");
  },
);

const PRICES = `export default { id: "prices", server: async () => ({ config: async (config) => {
  config.provider.scripted.models["long-window"].cost = { input: 1000, output: 1000 };
} }) };`;

scenario(
  "a fork that has spent its money reports, and no fork starts when the root's is spent",
  {
    plugin: { fork: { forkUSD: 1, rootUSD: 1.5 } },
    why: "the budget of the root must be used up by two forks; by default it is 10 dollars",
    twin: { none: "the prices would only be ten times as high" },
    probes: { prices: PRICES },
    proves: "the budget stops the fork with its report kept; the next one is refused",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      call(
        "bash",
        { command: "echo dear", description: "Dear" },
        { family: "child", contains: "Dear task.", usage: { inputTokens: 2_000, outputTokens: 10 } },
      ),
      call(
        "bash",
        { command: "sleep 3", description: "Wait" },
        { family: "child", contains: "Dear task.", usage: FEW },
      ),
      say("As far as the money went.", { family: "child", usage: FEW }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", usage: FEW }),
    ]);
    await rig.turn(id, "Fork.", [
      call("fork", { prompt: "Dear task." }, { usage: FEW }),
      say("Forked.", { usage: FEW }),
    ]);
    await waitForDeliveries(rig, id, 1);
    const child = rig.requests({ parentSessionId: id }).at(-1);
    expect(child && textOf(child)).toMatch(/The budget of this fork|The budget for all forks/);
    expect(textOf(requestWith(rig, id, "As far as the money went."))).toContain("completed");
    await rig.turn(id, "Fork again.", [
      call("fork", { prompt: "More." }, { usage: FEW }),
      say("No.", { usage: FEW }),
    ]);
    expect(textOf(requestWith(rig, id, "have spent $1.5"))).toContain("Do it yourself.");
  },
);
