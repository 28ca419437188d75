import { expect } from "vitest";
import { call, type Step, say } from "../../rig/model-server/step.ts";
import { scenario } from "../harness/scenario.ts";
import { firstChildRequest, requestWith, textOf, waitForDeliveries } from "./fork-support.ts";

function trouble(status: number, headers: Readonly<Record<string, string>> = {}): Step {
  const error = { message: status === 429 ? "Rate limit reached" : "Internal server error" };
  return { family: "child", reply: { type: "refusal", status, body: { error }, headers } };
}

scenario(
  "a provider's 500 and 429 do not end a fork",
  { plugin: {}, proves: "the child goes on when the provider does, and reports once" },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      trouble(500),
      trouble(429, { "retry-after": "1" }),
      say("The report, at last.", { family: "child" }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
    expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
    expect(textOf(requestWith(rig, id, "The report, at last."))).toContain("completed");
  },
);

scenario(
  "a stream that stalls ends with the time",
  {
    plugin: { fork: { timeoutMin: 0.08 } },
    why: "the time must be up within a test; by default it is 20 minutes",
    twin: { none: "nothing but the twenty minutes of the default ends a stalled stream" },
    proves: "timed out, told to the parent, and the slot is free again",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      { family: "child", reply: { type: "stall", text: "I began to say" } },
      say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
    await waitForDeliveries(rig, id, 1);
    const text = textOf(requestWith(rig, id, "fork_result delivery"));
    expect(text).toContain('state=\\"timed-out\\"');
  },
);

scenario(
  "a deleted parent stops its forks",
  { plugin: {}, leftoverSteps: "allow", proves: "the child does not go on for nobody" },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      call("bash", { command: "sleep 4", description: "Work" }, { family: "child" }),
      say("For nobody.", { family: "child" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
    await firstChildRequest(rig, id);
    await rig.opencode.call("DELETE", `/session/${id}`);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(rig.requests({ parentSessionId: id }).map(textOf).join()).not.toContain("For nobody.");
    const other = await rig.newSession();
    await rig.turn(other, "Still there?", [say("Yes.")]);
  },
);
