import { describe, expect } from "vitest";
import { REMINDER_TEXT } from "../../../src/fork/life/plan-delivery.ts";
import { call, refuse, say } from "../../rig/model-server/step.ts";
import { MIDDLE_WINDOW } from "../../rig/opencode/sandbox.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { carriersOf, forksOf, SHORT_WAITS, waitForRuns } from "./delivery-support.ts";
import {
  childrenOf,
  deliveriesOf,
  requestWith,
  textOf,
  toastsOf,
  waitForDeliveries,
} from "./fork-support.ts";

describe("results and what the parent is doing", () => {
  const shared = shareRig({ plugin: {}, env: SHORT_WAITS });

  scenario(
    "a result comes with the model, agent and variant of the user's last turn",
    { shared, proves: "the delivery switches nothing under the user" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "Hello.", [say("Hello.")]);
      rig.model.script([
        say("The report.", { family: "child" }),
        call("fork", { prompt: "Look." }, { sessionId: id }),
        say("Forked.", { sessionId: id, contains: "Go on with other work" }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      const parts = [{ type: "text", text: "Fork." }];
      await rig.opencode.call("POST", `/session/${id}/message`, {
        parts,
        model: MIDDLE_WINDOW,
        agent: "plan",
        variant: "high",
      });
      await waitForDeliveries(rig, id, 1);
      const [carrier] = await carriersOf(rig, id);
      expect(carrier?.message.info).toMatchObject({
        role: "user",
        agent: "plan",
        model: { ...MIDDLE_WINDOW, variant: "high" },
      });
      expect(requestWith(rig, id, "fork_result delivery").model).toBe(MIDDLE_WINDOW.modelID);
    },
  );

  scenario(
    "a parent that is busy for long without a tool is told all the same",
    { shared, proves: "after the wait the result is stored while the parent is still busy, once" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("The report.", { family: "child" }),
        call("fork", { prompt: "Look." }, { sessionId: id }),
        say("A long thought.", { sessionId: id, contains: "Go on with other work", delayMs: 16_000 }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.opencode.promptInBackground(id, { text: "Fork and think." });
      await rig.waitFor(async () => (await deliveriesOf(rig, id)).length > 0, "the result");
      expect(await rig.opencode.isBusy(id)).toBe(true);
      expect(rig.requests({ sessionId: id })).toHaveLength(2);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      expect(rig.requests({ sessionId: id })).toHaveLength(3);
    },
  );

  scenario(
    "a result that rode on a tool output is not inherited by later forks",
    {
      plugin: { fork: { inherit: "trimmed" } },
      why: "a full fork has its parent's bytes, and what rode on them",
      twin: "results reach a busy parent with its next step",
      proves: "the parent sees it, a fork made afterwards does not",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("Report one.", { family: "child", contains: "Task one." }),
        say("Report two.", { family: "child", contains: "Task two." }),
        say("Seen.", { sessionId: id, contains: "Report two." }),
      ]);
      await rig.turn(id, "Fork and work.", [
        call("fork", { prompt: "Task one." }),
        call("bash", { command: "sleep 4; echo worked", description: "Work" }),
        call("fork", { prompt: "Task two." }),
        say("Forked."),
      ]);
      expect(await waitForDeliveries(rig, id, 2)).toHaveLength(2);
      const last = (await childrenOf(rig, id)).find(({ title }) => title.includes("Task two."));
      const child = rig.requests({ sessionId: last?.id ?? "" })[0];
      expect(textOf(requestWith(rig, id, "worked\\n"))).toContain("Report one.");
      expect(child && textOf(child)).toContain("worked\\n");
      expect(child && textOf(child)).not.toContain("Report one.");
    },
  );

  scenario(
    "a parent that does not answer is asked once more, then people are told",
    {
      shared,
      proves: "verified, reminded once, toast; acknowledged by the user's next turn, never sent again",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("The report.", { family: "child" }),
        refuse("The model is on strike.", { sessionId: id, contains: REMINDER_TEXT }),
        refuse("The model is on strike.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
      await rig.waitFor(
        () => toastsOf(rig).some((text) => text.includes("waits for your next message")),
        "the toast",
      );
      expect(rig.requests({ sessionId: id })).toHaveLength(4);
      await rig.turn(id, "And?", [say("I see.")]);
      await waitForRuns(rig, id, ["completed"]);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
      await rig.waitFor(
        async () =>
          (await forksOf(rig, id)).every(
            ({ runs: [run] }) => run && "delivery" in run && run.delivery.state === "acked",
          ),
        "the answer to be noticed",
      );
    },
  );
});
