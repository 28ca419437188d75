import { expect } from "vitest";
import { forbiddenText } from "../../../src/fork/life/child-rules.ts";
import type { ForkRun } from "../../../src/fork/life/record.ts";
import { call, callAll, createGate, refuse, say } from "../../rig/model-server/step.ts";
import { describeHosts } from "../harness/scenario.ts";
import { forksOf, waitForRuns } from "./delivery-support.ts";
import {
  deliveriesOf,
  firstChildRequest,
  letGo,
  requestWith,
  textOf,
  waitForDeliveries,
  waiting,
} from "./fork-support.ts";

describeHosts("the life of a fork", (host) => {
  const shared = host.shareRig({ plugin: {}, files: { "notes.txt": "The cat is grey.\n" } });

  host.scenario(
    "three forks of an idle parent give three results, each once",
    { shared, proves: "three children in parallel, every result once, the parent answers" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        ...["one", "two", "three"].map((name) =>
          say(`Report ${name}.`, { family: "child", contains: `Task ${name}.` }),
        ),
        say("I have seen results.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
      ]);
      await rig.turn(id, "Fork three.", [
        callAll(
          ["one", "two", "three"].map((name) => ({ tool: "fork", input: { prompt: `Task ${name}.` } })),
        ),
        say("Forked."),
      ]);
      const delivered = await waitForDeliveries(rig, id, 3);
      expect(new Set(delivered).size).toBe(3);
      expect(delivered).toHaveLength(3);
      expect(await rig.children(id)).toHaveLength(3);
      // Version 2 has a result in the conversation before it asks the model with it.
      await rig.waitFor(
        async () =>
          rig.requests({ sessionId: id }).some((request) => textOf(request).includes("Report three.")),
        "a request with the third report",
      );
      expect(textOf(requestWith(rig, id, "Report three."))).toContain("data to judge");
    },
  );

  host.scenario(
    "a fork that ends before the answer which started it",
    { shared, proves: "its result is inserted: the answer stands, though the host does not show it yet" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([say("The early report.", { family: "child" })]);
      const command = rig.tools.run("sleep 8; echo slept");
      await rig.turn(id, "Fork it, and sleep.", [
        callAll([{ tool: "fork", input: { prompt: "Look." } }, command]),
        say("Seen.", { contains: "slept" }),
      ]);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      expect(textOf(requestWith(rig, id, "slept"))).toContain("The early report.");
    },
  );

  host.scenario(
    "three results that wait together wake an idle parent once",
    { shared, proves: "one request for three results; every one acknowledged by the answer" },
    async (rig) => {
      const id = await rig.newSession();
      const haveEnded = createGate();
      rig.model.script([
        ...["one", "two", "three"].map((name) =>
          say(`Report ${name}.`, { family: "child", contains: `Task ${name}.` }),
        ),
        callAll(
          ["one", "two", "three"].map((name) => ({ tool: "fork", input: { prompt: `Task ${name}.` } })),
          { sessionId: id },
        ),
        say("Forked.", { sessionId: id, contains: "Go on with other work", after: haveEnded.opened }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.promptInBackground(id, "Fork three.");
      await rig.waitFor(async () => (await forksOf(rig, id)).length === 3, "three forks");
      await waitForRuns(rig, id, ["completed"]);
      // Version 2 is given each result as soon as it is there: those that come behind the answer would wake it again.
      if (host.name === "opencode2")
        await rig.waitFor(
          async () => (await forksOf(rig, id)).every(({ runs: [run] }) => run && isHandedOver(run)),
          "all three to be handed over",
        );
      haveEnded.open();
      expect(await waitForDeliveries(rig, id, 3)).toHaveLength(3);
      expect(rig.requests({ sessionId: id })).toHaveLength(3);
      await rig.waitFor(
        async () =>
          (await forksOf(rig, id)).every(
            ({ runs: [run] }) => run && "delivery" in run && run.delivery.state === "acked",
          ),
        "the answer to be noticed",
      );
    },
  );

  host.scenario(
    "results reach a busy parent with its next step",
    { shared, proves: "nothing interrupts a working parent; each result once" },
    async (rig) => {
      const id = await rig.newSession();
      const isAtWork = createGate();
      rig.model.script([
        say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
        ...["one", "two", "three"].map((name) =>
          say(`Report ${name}.`, { family: "child", contains: `Task ${name}.`, after: isAtWork.opened }),
        ),
      ]);
      rig.model.script(
        [
          callAll(
            ["one", "two", "three"].map((name) => ({ tool: "fork", input: { prompt: `Task ${name}.` } })),
          ),
          callAll([waiting(rig, "go-on")]),
        ].map((step) => ({ sessionId: id, ...step })),
      );
      await rig.promptInBackground(id, "Fork three and work.");
      await rig.waitFor(() => rig.requests({ sessionId: id }).length === 2, "the parent at work");
      isAtWork.open();
      await waitForRuns(rig, id, ["completed"]);
      letGo(rig, "go-on");
      const delivered = await waitForDeliveries(rig, id, 3);
      expect(delivered).toHaveLength(3);
      expect(new Set(delivered).size).toBe(3);
      expect(rig.requests({ sessionId: id })).toHaveLength(3);
    },
  );

  host.scenario(
    "a fork that waits gives its result at once",
    { shared, proves: "wait_s returns the report; it is not delivered a second time" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([say("The report.", { family: "child" })]);
      await rig.turn(id, "Fork and wait.", [call("fork", { prompt: "Look.", wait_s: 30 }), say("Thanks.")]);
      expect(textOf(requestWith(rig, id, "fork_result delivery"))).toContain("The report.");
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
      expect(rig.requests({ sessionId: id })).toHaveLength(2);
    },
  );

  host.scenario(
    "a provider's error ends a fork as failed",
    { shared, proves: "the error and its kind reach the parent; nothing says completed" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        refuse("The model is on strike.", { family: "child" }),
        say("A pity.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
      await waitForDeliveries(rig, id, 1);
      const text = textOf(requestWith(rig, id, "fork_result delivery"));
      expect(text).toContain('state=\\"failed\\"');
      expect(text).toContain("The model is on strike.");
    },
  );

  host.scenario(
    "a fork cannot fork",
    { shared, proves: "the tools stay declared, and every attempt is refused with what to do" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        call("fork", { prompt: "Deeper." }, { family: "child" }),
        callAll([rig.tools.delegate("Deeper.")], { family: "child" }),
        say("I did it myself.", { family: "child" }),
        say("Fine.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
      await waitForDeliveries(rig, id, 1);
      const child = rig.requests({ parentSessionId: id }).at(-1);
      expect(child && textOf(child)).toContain(forbiddenText("fork"));
      expect(child && textOf(child)).toContain("cannot start subagents. Do it yourself.");
      expect(await rig.children(id)).toHaveLength(1);
    },
  );

  host.scenario(
    "a cancelled fork gives what it had written, and can be resumed",
    { shared, proves: "cancel keeps the partial text; the next run sees the prefix and the first run" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        callAll([rig.tools.run("sleep 30")], { family: "child", text: "Half of it is done." }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look long." }), say("Forked.")]);
      await firstChildRequest(rig, id);
      await rig.waitFor(async () => {
        const [child] = await rig.children(id);
        const parts = child && (await rig.transcript(child.id)).flatMap((message) => message.parts);
        return parts?.some((part) => part.type === "tool" && part.outcome.status === "pending");
      }, "the child's running command");
      await rig.turn(id, "Stop it.", [call("fork_cancel", { id: "1" }), say("Stopped.")]);
      const stopped = textOf(requestWith(rig, id, "fork_result delivery"));
      expect(stopped).toContain('state=\\"cancelled\\"');
      expect(stopped).toContain("Half of it is done.");
      rig.model.script([
        say("All of it is done.", { family: "child" }),
        say("Good.", { sessionId: id, contains: "All of it is done." }),
      ]);
      await rig.turn(id, "Go on.", [call("fork", { prompt: "Do the rest.", resume: "1" }), say("Resumed.")]);
      await waitForDeliveries(rig, id, 2);
      const second = rig.requests({ parentSessionId: id }).at(-1);
      expect(second && textOf(second)).toContain("Half of it is done.");
      expect(second && textOf(second)).toContain("Do the rest.");
      expect(await rig.children(id)).toHaveLength(1);
    },
  );

  host.scenario(
    "a running fork can be steered",
    { shared, proves: "the new words reach the child at its next step, in the same run" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        callAll([waiting(rig, "told")], { family: "child" }),
        say("Done as told.", { family: "child" }),
        say("Good.", { sessionId: id, contains: "Done as told." }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
      await firstChildRequest(rig, id);
      await rig.turn(id, "Tell it.", [
        call("fork", { prompt: "Look at the dog too.", resume: "1" }),
        say("Told."),
      ]);
      letGo(rig, "told");
      const delivered = await waitForDeliveries(rig, id, 1);
      expect(delivered).toHaveLength(1);
      expect(rig.requests({ parentSessionId: id }).map(textOf).join()).toContain("Look at the dog too.");
    },
  );

  host.scenario(
    "a child that says nothing is asked once to report",
    { shared, proves: "an empty answer is followed by one nudge, and its report is delivered" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("", { family: "child" }),
        say("Here is the report.", { family: "child", contains: "ended without a report" }),
        say("Good.", { sessionId: id, contains: "Here is the report." }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
    },
  );

  host.scenario(
    "fork_result shows the table, the report and the transcript, and does not let itself be polled",
    { shared, proves: "each view as the model reads it; asking twice for a running fork is refused" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        callAll([waiting(rig, "enough")], { family: "child", text: "I begin." }),
        say("The report.", { family: "child" }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Fork and ask.", [
        call("fork", { prompt: "Look.", title: "A look" }),
        call("fork_result", {}),
        call("fork_result", { id: "1" }),
        call("fork_result", { id: "1" }),
        call("fork_result", { id: "7" }),
        say("I wait."),
      ]);
      const asked = textOf(rig.requests({ sessionId: id }).at(-1) ?? requestWith(rig, id, "Fork and ask."));
      expect(asked).toContain("#1 A look · ");
      expect(asked).toContain("Fork 1 is not done");
      expect(asked).toContain("Fork 1 still runs. Do not poll");
      expect(asked).toContain('There is no fork \\"7\\".');
      letGo(rig, "enough");
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      await rig.turn(id, "Show it.", [
        call("fork_result", { id: "1", view: "transcript", limit: 2 }),
        call("fork_result", { id: "1", view: "transcript", after: 2 }),
        say("Shown."),
      ]);
      const shown = textOf(requestWith(rig, id, "Messages 1 to 2 of 3 of fork 1. More: after 2."));
      expect(shown).toContain("I begin.");
      expect(textOf(requestWith(rig, id, "Messages 3 to 3 of 3 of fork 1."))).toContain("The report.");
    },
  );
});

function isHandedOver(run: ForkRun): boolean {
  return "delivery" in run && run.delivery.state !== "pending";
}
