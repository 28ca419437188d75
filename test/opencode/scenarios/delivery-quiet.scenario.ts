import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { call, callAll, createGate, type ScriptedCall, say } from "../../rig/model-server/step.ts";
import { LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { carriersOf, forksOf, pause, SHORT_WAITS, waitForRuns } from "./delivery-support.ts";
import {
  deliveriesOf,
  firstChildRequest,
  requestWith,
  textOf,
  toastsOf,
  waitForDeliveries,
} from "./fork-support.ts";

const FEW = { inputTokens: 1_000, outputTokens: 10 };

/** A parent that the user stops in the middle of a command while its fork works. */
async function stopParent(rig: Rig, title: string, more: readonly ScriptedCall[] = []): Promise<string> {
  const id = await rig.newSession(title);
  const hasStopped = createGate();
  rig.model.script([
    callAll([{ tool: "fork", input: { prompt: "Look.", title: "The look" } }, ...more], {
      sessionId: id,
      usage: FEW,
    }),
    call("bash", { command: "sleep 60", description: "Wait" }, { sessionId: id, usage: FEW }),
    say("The report.", { family: "child", contains: "Look.", after: hasStopped.opened, usage: FEW }),
  ]);
  await rig.opencode.promptInBackground(id, { text: "Fork and work." });
  await firstChildRequest(rig, id);
  await rig.waitFor(async () => {
    const parts = (await rig.opencode.messages(id)).flatMap((message) => message.parts);
    return parts.some(
      (part) => part.tool === "bash" && (part.state as { status: string }).status === "running",
    );
  }, "the parent's command");
  await rig.opencode.abort(id);
  hasStopped.open();
  return id;
}

describe("results for a parent that must not be woken", () => {
  const shared = shareRig({ plugin: {}, env: SHORT_WAITS });

  scenario(
    "a parent that the user stopped hears of a result with the user's next message",
    { shared, proves: "nobody is woken; the next message carries the result, once" },
    async (rig) => {
      const id = await stopParent(rig, "Stopped");
      await waitForRuns(rig, id, ["completed"]);
      await pause(2_500);
      expect(await deliveriesOf(rig, id)).toEqual([]);
      expect(rig.requests({ sessionId: id })).toHaveLength(2);
      await rig.turn(id, "And now?", [say("Now I know.")]);
      expect(textOf(requestWith(rig, id, "And now?"))).toContain("The report.");
      expect((await carriersOf(rig, id)).map(({ count }) => count)).toEqual([1]);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
    },
  );

  scenario(
    "results wait where the user speaks, even if the plugin that held them was put down",
    {
      shared,
      proves: "another instance takes the fork over from a program that still runs",
    },
    async (rig) => {
      const id = await stopParent(rig, "Reloaded");
      await waitForRuns(rig, id, ["completed"]);
      const [before] = await forksOf(rig, id);
      await rig.opencode.call("POST", "/instance/dispose", {});
      await rig.turn(id, "And now?", [say("Now I know.")]);
      expect(textOf(requestWith(rig, id, "And now?"))).toContain("The report.");
      const [after] = await forksOf(rig, id);
      expect(after?.owner.instanceId).not.toBe(before?.owner.instanceId);
      expect(after?.owner.process).toEqual(before?.owner.process);
      await pause(2_500);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
    },
  );

  scenario(
    "a parent that compacts is left alone, and its summary knows of its forks",
    {
      shared,
      proves:
        "a waiting result and a running fork stand in the request for the summary; each result arrives once, afterwards",
    },
    async (rig) => {
      const second = { tool: "fork", input: { prompt: "Look twice.", title: "The second look" } };
      rig.model.script([
        call(
          "bash",
          { command: "until [ -e go ]; do sleep 0.2; done", description: "Wait" },
          { family: "child", contains: "Look twice.", usage: FEW },
        ),
        say("The second report.", { family: "child", contains: "Look twice.", usage: FEW }),
      ]);
      const id = await stopParent(rig, "Compacting", [second]);
      await rig.waitFor(
        async () =>
          (await forksOf(rig, id)).some(
            ({ title, runs }) => title === "The look" && runs[0]?.state === "completed",
          ),
        "the first report",
      );
      const haveEnded = createGate();
      rig.model.script([
        say("## Objective\n- SUMMARY", { lane: "summary", after: haveEnded.opened, usage: FEW }),
        say("Good.", { sessionId: id, contains: "The second report.", usage: FEW }),
      ]);
      const compacting = rig.opencode.summarize(id, LONG_WINDOW);
      const summary = await rig.waitFor(
        () => rig.requests({ sessionId: id, lane: "summary" })[0],
        "the request for the summary",
      );
      writeFileSync(join(rig.sandbox.project, "go"), "");
      await waitForRuns(rig, id, ["completed"]);
      await pause(1_000);
      expect(await deliveriesOf(rig, id)).toEqual([]);
      haveEnded.open();
      await compacting;
      expect(textOf(summary)).toMatch(/#\d The look · completed: its result will come by itself/);
      expect(textOf(summary)).toMatch(/#\d The second look · running/);
      expect(await waitForDeliveries(rig, id, 2)).toHaveLength(2);
      expect(textOf(requestWith(rig, id, "The second report."))).toContain("SUMMARY");
    },
  );

  scenario(
    "forks of a deleted parent end with it, and those of others go on",
    {
      shared,
      proves: "nothing waits for a parent that is gone; another parent gets its result",
    },
    async (rig) => {
      const gone = await rig.newSession("Gone");
      const other = await rig.newSession("Other");
      rig.model.script([
        call(
          "bash",
          { command: "sleep 60", description: "Wait" },
          { family: "child", contains: "Look long." },
        ),
        say("The other report.", { family: "child", contains: "Look there.", delayMs: 4_000 }),
        say("Seen.", { sessionId: other, contains: "The other report." }),
      ]);
      await rig.turn(gone, "Fork.", [call("fork", { prompt: "Look long." }), say("Forked.")]);
      await rig.turn(other, "Fork.", [call("fork", { prompt: "Look there." }), say("Forked.")]);
      await firstChildRequest(rig, gone);
      await rig.opencode.call("DELETE", `/session/${gone}`);
      await waitForRuns(rig, gone, ["failed", "cancelled"]);
      await rig.waitFor(async () => {
        const [fork] = await forksOf(rig, gone);
        const run = fork?.runs[0];
        return run !== undefined && "delivery" in run && run.delivery.closedBy === "parent-deleted";
      }, "the result to be put away");
      expect(await waitForDeliveries(rig, other, 1)).toHaveLength(1);
      expect(toastsOf(rig).join()).not.toContain("waits for your next message");
    },
  );
});
