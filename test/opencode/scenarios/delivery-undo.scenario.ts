import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { call, callAll, type Step, say } from "../../rig/model-server/step.ts";
import { LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import type { HostRig } from "../harness/host-rig.ts";
import { describeHosts, scenario, shareRig } from "../harness/scenario.ts";
import { forksOf, pause, waitForRuns } from "./delivery-support.ts";
import {
  childrenOf,
  deliveriesOf,
  firstChildRequest,
  letGo,
  requestWith,
  textOf,
  waitForDeliveries,
  waiting,
} from "./fork-support.ts";

/** A child that works until `letGo(name)` and then reports. */
const childOf = (rig: HostRig, name: string): readonly Step[] => [
  callAll([waiting(rig, name)], { family: "child", contains: taskOf(name) }),
  say(`Report ${name}.`, { family: "child", contains: taskOf(name) }),
];

/** The task of a child in the body of its request; what it inherited may speak of other forks. */
const taskOf = (name: string): string => `<task>\\nLook ${name}.`;

const forkTurn = (name: string): readonly Step[] => [
  call("fork", { prompt: `Look ${name}.`, title: name }),
  say("Forked."),
];

/** Everything of a session that must not change while it is reverted. */
async function pictureOf(rig: HostRig, sessionId: string): Promise<unknown> {
  return {
    stored: await rig.transcript(sessionId),
    requests: rig.requests({ sessionId, lane: "any" }).length,
  };
}

async function idsOf(rig: HostRig, sessionId: string): Promise<readonly string[]> {
  return (await rig.transcript(sessionId)).map(({ id }) => id);
}

/** Waits until every result of a session is known to be answered. */
function waitForAnswers(rig: HostRig, sessionId: string): Promise<unknown> {
  return rig.waitFor(
    async () =>
      (await forksOf(rig, sessionId)).every(
        ({ runs: [run] }) => run && "delivery" in run && run.delivery.state === "acked",
      ),
    "the answer to be noticed",
  );
}

/** Longer than a result that may be delivered waits. */
const QUIET_MS = 2_500;
/** Long enough for an undo to be noticed. */
const NOTICE_MS = 700;

describeHosts("what the user takes back", (host) => {
  const shared = host.shareRig({ plugin: {} });

  host.scenario(
    "a fork whose launch was undone reports to nobody until it is asked for",
    {
      shared,
      proves:
        "it is told and may only report; the undone messages stay, nothing is inserted then or later, a toast offers the result, fork_result gives it",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        callAll([rig.tools.run("touch made-by-alpha")], { family: "child", delayMs: 6_000 }),
        say("Report alpha.", { family: "child" }),
      ]);
      await rig.turn(id, "Hello.", [say("Hello.")]);
      await rig.turn(id, "Fork.", forkTurn("alpha"));
      await firstChildRequest(rig, id);
      await rig.undo(id);
      const before = await pictureOf(rig, id);
      await waitForRuns(rig, id, ["completed"]);
      expect(rig.requests({ parentSessionId: id }).map(textOf)[1]).toContain("taken back the message");
      expect(existsSync(join(rig.sandbox.project, "made-by-alpha"))).toBe(false);
      await rig.waitFor(() => rig.notices().some((text) => text.includes("not inserted")), "the offer");
      await pause(QUIET_MS);
      expect(await pictureOf(rig, id)).toEqual(before);
      await rig.turn(id, "Something else.", [say("Else.")]);
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toEqual([]);
      await rig.turn(id, "What did the fork find?", [call("fork_result", { id: "1" }), say("Read.")]);
      expect(textOf(requestWith(rig, id, "fork_result delivery"))).toContain("Report alpha.");
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
    },
  );

  host.scenario(
    "after /redo everything is there, and the result comes once",
    { shared, proves: "undone and restored while the child works and again after its end" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        ...childOf(rig, "beta"),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Hello.", [say("Hello.")]);
      await rig.turn(id, "Fork.", forkTurn("beta"));
      const stored = await idsOf(rig, id);
      await firstChildRequest(rig, id);
      await rig.undo(id);
      await rig.redo(id);
      await rig.undo(id);
      letGo(rig, "beta");
      await waitForRuns(rig, id, ["completed"]);
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toEqual([]);
      await rig.redo(id);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
      expect((await idsOf(rig, id)).slice(0, stored.length)).toEqual(stored);
    },
  );

  host.scenario(
    "a result waits while the user is elsewhere in the past, and comes again when its carrier was undone",
    { shared, proves: "delivered with the message with which the user goes on, each time once" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script(childOf(rig, "gamma"));
      await rig.turn(id, "Fork.", forkTurn("gamma"));
      await firstChildRequest(rig, id);
      await rig.turn(id, "More.", [say("More.")]);
      await rig.undo(id);
      const before = await pictureOf(rig, id);
      letGo(rig, "gamma");
      await waitForRuns(rig, id, ["completed"]);
      await pause(QUIET_MS);
      expect(await pictureOf(rig, id)).toEqual(before);
      await rig.turn(id, "On.", [say("I see.")]);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      await waitForAnswers(rig, id);
      await rig.undo(id);
      await pause(QUIET_MS);
      await rig.turn(id, "On, differently.", [say("I see again.")]);
      await waitForDeliveries(rig, id, 1);
      const last = rig.requests({ sessionId: id }).at(-1);
      expect(last && textOf(last)).toContain("On, differently.");
      expect(last && textOf(last)).toContain("Report gamma.");
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
    },
  );

  host.scenario(
    "a result that was undone together with its launch does not come again",
    {
      shared,
      proves:
        "undo right before the next message, and undo, redo, undo: one answer to that message, and no result behind it",
    },
    async (rig) => {
      const ids: string[] = [];
      for (const name of ["epsilon", "zeta"]) {
        const id = await rig.newSession();
        ids.push(id);
        rig.model.script([say(`Report ${name}.`, { family: "child", contains: taskOf(name) })]);
        await rig.turn(id, "Hello.", [say("Hello.")]);
        await rig.turn(id, "Fork.", [
          call("fork", { prompt: `Look ${name}.`, title: name }),
          callAll([rig.tools.run("sleep 2")]),
          say("Seen."),
        ]);
        expect(await deliveriesOf(rig, id)).toHaveLength(1);
        await waitForAnswers(rig, id);
        await rig.undo(id);
        if (name === "zeta") {
          await pause(NOTICE_MS);
          await rig.redo(id);
          await pause(NOTICE_MS);
          await rig.undo(id);
          await pause(NOTICE_MS);
        }
        await rig.turn(id, "Something else.", [say("Else.")]);
      }
      await pause(QUIET_MS);
      for (const id of ids) {
        expect(await deliveriesOf(rig, id)).toEqual([]);
        expect(rig.requests({ sessionId: id })).toHaveLength(5);
      }
    },
  );

  host.scenario(
    "a restart while messages are taken back changes nothing of it",
    {
      plugin: {},
      proves:
        "after kill -9 and a restart the undone messages are there; the user goes on, and each result comes once or never",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([...childOf(rig, "one"), ...childOf(rig, "two")]);
      await rig.turn(id, "Fork one.", forkTurn("one"));
      await rig.turn(id, "Fork two.", forkTurn("two"));
      await rig.waitFor(() => rig.requests({ parentSessionId: id }).length === 2, "two children at work");
      await rig.undo(id);
      const before = await pictureOf(rig, id);
      letGo(rig, "one");
      letGo(rig, "two");
      await waitForRuns(rig, id, ["completed"]);
      await rig.kill9();
      await rig.restart();
      await rig.transcript(id);
      await pause(QUIET_MS);
      expect(await pictureOf(rig, id)).toEqual(before);
      await rig.turn(id, "On.", [say("I see.")]);
      await waitForDeliveries(rig, id, 1);
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
      const last = rig.requests({ sessionId: id }).at(-1);
      expect(last && textOf(last)).toContain("Report one.");
      expect(last && textOf(last)).not.toContain("Report two.");
    },
  );
});

describe("what the user takes back in OpenCode 1", () => {
  const shared = shareRig({ plugin: {} });

  scenario(
    "what was taken back is in no request and no summary afterwards",
    {
      shared,
      proves: "neither a message marked with #pin nor a fork of the undone part reaches the compaction",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script(childOf(rig, "delta"));
      await rig.turn(id, "The port is 4711. #pin", [say("Noted.")]);
      await rig.turn(id, "The password is on the door. #pin", [
        call("fork", { prompt: "Look delta." }),
        say("Forked."),
      ]);
      await firstChildRequest(rig, id);
      await rig.undo(id);
      rig.model.script([say("## Objective\n- SUMMARY", { lane: "summary" })]);
      await rig.opencode.summarize(id, LONG_WINDOW);
      const [summary] = rig.requests({ sessionId: id, lane: "summary" });
      expect(summary && textOf(summary)).toContain("The port is 4711.");
      expect(summary && textOf(summary)).not.toContain("on the door");
      expect(summary && textOf(summary)).not.toContain("Look delta.");
      letGo(rig, "delta");
      await waitForRuns(rig, id, ["completed"]);
      await rig.turn(id, "On.", [say("On.")]);
      const last = rig.requests({ sessionId: id }).at(-1);
      expect(last && textOf(last)).toContain("The port is 4711.");
      expect(last && textOf(last)).not.toContain("on the door");
      expect(await deliveriesOf(rig, id)).toEqual([]);
    },
  );

  scenario(
    "deleting a session stops its forks before their next request",
    {
      shared,
      proves:
        "no request after the deletion, from a child that was being answered, waiting to repeat a request, or at work",
      leftoverSteps: "allow",
    },
    async (rig) => {
      const id = await rig.newSession();
      const retry = { error: { message: "slow down", type: "rate_limit" } };
      rig.model.script([
        say("Report one.", { family: "child", contains: taskOf("one"), delayMs: 4_000 }),
        {
          family: "child",
          contains: taskOf("two"),
          reply: { type: "refusal", status: 429, body: retry, headers: { "retry-after": "4" } },
        },
        call(
          "bash",
          { command: "sleep 4", description: "Work" },
          { family: "child", contains: taskOf("three") },
        ),
      ]);
      const prompts = ["one", "two", "three"].map((name) => ({
        tool: "fork",
        input: { prompt: `Look ${name}.` },
      }));
      await rig.turn(id, "Fork.", [callAll(prompts), say("Forked.")]);
      await rig.waitFor(() => rig.requests({ parentSessionId: id }).length === 3, "three children at work");
      await rig.opencode.call("DELETE", `/session/${id}`);
      const before = rig.requests({ lane: "any" }).length;
      await pause(9_000);
      expect(rig.requests({ lane: "any" })).toHaveLength(before);
      await waitForRuns(rig, id, ["failed", "cancelled"]);
    },
  );

  scenario(
    "a child that the user deletes stops too, and its parent hears of it",
    { shared, proves: "one result that says so, no request of the child", leftoverSteps: "allow" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        say("Report.", { family: "child", delayMs: 4_000 }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
      await firstChildRequest(rig, id);
      const [child] = await childrenOf(rig, id);
      await rig.opencode.call("DELETE", `/session/${child?.id}`);
      await waitForDeliveries(rig, id, 1);
      await pause(5_000);
      expect(rig.requests({ parentSessionId: id })).toHaveLength(1);
      expect(textOf(requestWith(rig, id, "fork_result delivery"))).toContain("the child session was deleted");
    },
  );
});
