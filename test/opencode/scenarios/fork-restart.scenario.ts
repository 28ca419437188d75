import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { call, callAll, createGate, say } from "../../rig/model-server/step.ts";
import { sharedPrefix } from "../../rig/opencode/shared-prefix.ts";
import { describeHosts, scenario } from "../harness/scenario.ts";
import { pause } from "./delivery-support.ts";
import {
  deliveriesOf,
  firstChildRequest,
  requestWith,
  textOf,
  toastsOf,
  waitForDeliveries,
  waitForEnds,
} from "./fork-support.ts";
import { runCarryover } from "./window-support.ts";

describeHosts("a restart", (host) => {
  host.scenario(
    "a result that was ready when the host died comes with the user's next message",
    { plugin: {}, proves: "finished while away: delivered once, nothing wakes the parent" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("The report.", { family: "child" }),
        call("fork", { prompt: "Look." }, { sessionId: id }),
        callAll([rig.tools.run("sleep 60")], { sessionId: id }),
      ]);
      await rig.promptInBackground(id, "Fork and work.");
      await firstChildRequest(rig, id);
      const [child] = await rig.children(id);
      await rig.waitUntilIdle(child?.id ?? "");
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      await rig.kill9();
      await rig.restart();
      expect(await deliveriesOf(rig, id)).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(await deliveriesOf(rig, id)).toEqual([]);
      await rig.turn(id, "And?", [say("I have it.")]);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
      expect(textOf(requestWith(rig, id, "And?"))).toContain("The report.");
    },
  );

  host.scenario(
    "a fork that was killed with the host is reported, and resumes with its prefix",
    {
      plugin: {},
      proves: "interrupted, told with the user's next message, the next run reads the inherited prefix",
    },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "The cat is grey.", [say("Noted.")]);
      rig.model.script([callAll([rig.tools.run("sleep 60")], { family: "child", text: "Half." })]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look long." }), say("Forked.")]);
      const before = await firstChildRequest(rig, id);
      await rig.waitFor(async () => {
        const [child] = await rig.children(id);
        return child !== undefined && (await rig.transcript(child.id)).length >= 2;
      }, "the child at work");
      await rig.kill9();
      await rig.restart();
      await rig.transcript(id);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(await deliveriesOf(rig, id)).toEqual([]);
      rig.model.script([
        say("All.", { family: "child" }),
        say("Good.", { sessionId: id, contains: "All.\\n</fork_result>" }),
      ]);
      await rig.turn(id, "What happened?", [
        call("fork", { prompt: "Go on.", resume: "1" }),
        say("Resumed."),
      ]);
      const told = textOf(requestWith(rig, id, 'state=\\"interrupted\\"'));
      expect(told).toContain("What happened?");
      // The call that was cut off: version 2 does not show it any more.
      expect(told).toContain('calls=\\"1\\"');
      const delivered = await waitForDeliveries(rig, id, 2);
      expect(new Set(delivered).size).toBe(2);
      const resumed = rig.requests({ parentSessionId: id }).at(-1);
      if (resumed === undefined) throw new Error("No second run");
      expect(sharedPrefix(before, resumed).share).toBeGreaterThan(0.99);
      expect(textOf(resumed)).toContain("Go on.");
      expect(await rig.children(id)).toHaveLength(1);
    },
  );
});

scenario(
  "a fork whose record is lost is rebuilt from its session",
  {
    plugin: {},
    proves: "what was delivered is not delivered again; what was not comes with the user's next message",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      say("The first report.", { family: "child", contains: "First task." }),
      say("Seen.", { sessionId: id, contains: "The first report." }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "First task." }), say("Forked.")]);
    await waitForDeliveries(rig, id, 1);
    rig.model.script([
      say("The second report.", { family: "child", contains: "Second task." }),
      call("fork", { prompt: "Second task." }, { sessionId: id }),
      call("bash", { command: "sleep 60", description: "Wait" }, { sessionId: id }),
    ]);
    await rig.opencode.promptInBackground(id, { text: "Fork and work." });
    await waitForEnds(rig, 2);
    await rig.waitFor(() => rig.model.unusedSteps().length === 0, "the parent's long call");
    await rig.kill9();
    const folder = join(rig.sandbox.home, ".local", "share", "carryover", "forks");
    rmSync(folder, { recursive: true });
    await rig.restart();
    await rig.opencode.messages(id);
    await rig.waitFor(
      () => recordsIn(folder).includes('"delivery":{"state":"pending"'),
      "a rebuilt record with a result to deliver",
    );
    await rig.turn(id, "And?", [say("I have it.")]);
    const delivered = await deliveriesOf(rig, id);
    expect(delivered).toHaveLength(2);
    expect(new Set(delivered).size).toBe(2);
    expect(textOf(requestWith(rig, id, "And?"))).toContain("The second report.");
  },
);

scenario(
  "forks that were purged are not reported again",
  {
    plugin: {},
    proves:
      "no toast, no shown report and no delivery for children whose result was delivered or whose launch was undone",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      say("The first report.", { family: "child", contains: "First task." }),
      say("Seen.", { sessionId: id, contains: "The first report." }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "First task." }), say("Forked.")]);
    await waitForDeliveries(rig, id, 1);
    const isUndone = createGate();
    rig.model.script([
      say("The second report.", { family: "child", contains: "Second task.", after: isUndone.opened }),
    ]);
    await rig.turn(id, "Fork again.", [call("fork", { prompt: "Second task." }), say("Forked.")]);
    const messageID = (await rig.opencode.messages(id)).findLast(({ info }) => info.role === "user")?.info.id;
    await rig.opencode.call("POST", `/session/${id}/revert`, { messageID });
    isUndone.open();
    await rig.waitFor(() => toastsOf(rig).some((text) => text.includes("not inserted")), "the offer");
    await rig.turn(id, "Something else.", [say("Else.")]);
    const before = await rig.opencode.messages(id);
    const toasts = toastsOf(rig).length;
    await rig.kill9();
    const store = join(rig.sandbox.home, ".local", "share", "carryover");
    expect((await runCarryover(rig, "purge", "--all", "--yes")).code).toBe(0);
    expect(existsSync(store) ? readdirSync(store, { recursive: true }) : []).toEqual([]);
    await rig.restart();
    await rig.turn(id, "And?", [say("Nothing new.")]);
    await pause(3_000);
    expect((await rig.opencode.messages(id)).slice(0, before.length)).toEqual(before);
    expect(toastsOf(rig).slice(toasts).join()).not.toMatch(/fork/i);
    expect(await deliveriesOf(rig, id)).toHaveLength(1);
    const asked = textOf(requestWith(rig, id, "And?"));
    expect(asked).not.toContain("The second report.");
    expect(recordsIn(join(store, "forks"))).toBe("");
  },
);

/** All that the records in a folder hold. */
function recordsIn(folder: string): string {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile())
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
  } catch {
    return ""; // A record was replaced while we looked.
  }
}
