import { expect } from "vitest";
import { call, say } from "../../rig/model-server/step.ts";
import { LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import { scenario } from "../harness/scenario.ts";
import { childrenOf, firstChildRequest, requestWith, textOf, waitForDeliveries } from "./fork-support.ts";

const FEW = { inputTokens: 1_000, outputTokens: 10 };

scenario(
  "a grafted child survives its own compactions",
  {
    plugin: {},
    proves:
      "the summary is made of the inherited messages too; after it they are gone but for what the user pinned, and never come twice",
  },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "The cat is called Mimi.", [say("Noted: Mimi.", { usage: FEW })]);
    await rig.turn(id, "Her dish is blue. #pin", [say("Noted: blue.", { usage: FEW })]);
    rig.model.script([
      call(
        "bash",
        { command: "echo first", description: "One" },
        { family: "child", usage: { inputTokens: 170_000, outputTokens: 10 } },
      ),
      say("## Objective\n- SUMMARY-ONE", { lane: "summary", usage: FEW }),
      call(
        "bash",
        { command: "echo second", description: "Two" },
        { family: "child", usage: { inputTokens: 170_000, outputTokens: 10 } },
      ),
      say("## Objective\n- SUMMARY-TWO", { lane: "summary", usage: FEW }),
      say("The report.", { family: "child", usage: FEW }),
      say("Good.", { sessionId: id, contains: "The report.", usage: FEW }),
    ]);
    await rig.turn(id, "Fork.", [
      call("fork", { prompt: "Look." }, { usage: FEW }),
      say("Forked.", { usage: FEW }),
    ]);
    await waitForDeliveries(rig, id, 1);
    const [child] = await childrenOf(rig, id);
    const requests = rig.requests({ sessionId: child?.id ?? "", lane: "any" });
    const lanes = requests.map((request) => request.lane);
    expect(lanes).toEqual(["main", "summary", "main", "summary", "main"]);
    const [first, firstSummary, second, secondSummary, third] = requests.map(textOf);
    expect(first).toContain("The cat is called Mimi.");
    expect(firstSummary).toContain("The cat is called Mimi.");
    expect(firstSummary?.split("The cat is called Mimi.")).toHaveLength(2);
    expect(second).toContain("SUMMARY-ONE");
    expect(second).not.toContain("The cat is called Mimi.");
    expect(secondSummary).not.toContain("The cat is called Mimi.");
    expect(secondSummary).toContain("SUMMARY-ONE");
    expect(third).toContain("SUMMARY-TWO");
    expect(third).not.toContain("The cat is called Mimi.");
    for (const text of [first, firstSummary, second, secondSummary, third])
      expect(text).toContain("Her dish is blue. #pin");
  },
);

scenario(
  "a parent that compacts while its fork runs still gets the result",
  { plugin: {}, proves: "the fork is named in the summary's prompt, and its result arrives once" },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "The cat is called Mimi.", [say("Noted: Mimi.", { usage: FEW })]);
    rig.model.script([
      call("bash", { command: "sleep 8", description: "Wait" }, { family: "child" }),
      say("The late report.", { family: "child" }),
    ]);
    await rig.turn(id, "Fork.", [
      call("fork", { prompt: "Look.", title: "Slow look" }, { usage: FEW }),
      say("Forked.", { usage: FEW }),
    ]);
    await firstChildRequest(rig, id);
    rig.model.script([
      say("## Objective\n- SUMMARY", { lane: "summary", usage: FEW }),
      say("Good.", { sessionId: id, contains: "The late report.", usage: FEW }),
    ]);
    await rig.opencode.summarize(id, LONG_WINDOW);
    const [summary] = rig.requests({ sessionId: id, lane: "summary" });
    expect(summary && textOf(summary)).toContain("#1 Slow look");
    expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
    expect(textOf(requestWith(rig, id, "The late report."))).toContain("SUMMARY");
  },
);
