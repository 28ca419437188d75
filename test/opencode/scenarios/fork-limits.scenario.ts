import { expect } from "vitest";
import { LIMIT_REASON } from "../../../src/fork/life/child-rules.ts";
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
    // The first four work until all have been asked for: a slot that is free takes one that waits.
    const first = Array.from({ length: 4 }, () =>
      say("The report.", { family: "child", delayMs: 15_000, usage: FEW }),
    );
    rig.model.script([
      ...first,
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
    plugin: { fork: { timeoutMin: 0.2 } },
    why: "the time must be up within a test; by default it is 20 minutes",
    twin: { none: "it would take twenty minutes" },
    proves: "its next request is for the report; after the grace a partial result",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      call("bash", { command: "sleep 13", description: "Wait" }, { family: "child", contains: "Good task." }),
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
