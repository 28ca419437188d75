import { describe, expect } from "vitest";
import { call, type Step, say } from "../../rig/model-server/step.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { carriersOf, forksOf, pause, waitForRuns } from "./delivery-support.ts";
import {
  deliveriesOf,
  firstChildRequest,
  letGo,
  requestWith,
  textOf,
  toastsOf,
  waitForDeliveries,
  waitingCommand,
} from "./fork-support.ts";

/** A child that works until `letGo(name)` and then reports. */
const childOf = (name: string): readonly Step[] => [
  call("bash", waitingCommand(name), { family: "child", contains: `Look ${name}.` }),
  say(`Report ${name}.`, { family: "child", contains: `Look ${name}.` }),
];

const forkTurn = (name: string): readonly Step[] => [
  call("fork", { prompt: `Look ${name}.`, title: name }),
  say("Forked."),
];

/** What `/undo` does: takes back the newest message of the user that stands, and all that followed. */
async function undo(rig: Rig, sessionId: string): Promise<string> {
  const messages = await rig.opencode.messages(sessionId);
  const messageID = messages.findLast(({ info }) => info.role === "user")?.info.id ?? "";
  await rig.opencode.call("POST", `/session/${sessionId}/revert`, { messageID });
  return messageID;
}

const redo = (rig: Rig, sessionId: string): Promise<unknown> =>
  rig.opencode.call("POST", `/session/${sessionId}/unrevert`, {});

/** Everything of a session that must not change while it is reverted. */
async function pictureOf(rig: Rig, sessionId: string): Promise<unknown> {
  const { revert } = (await rig.opencode.call("GET", `/session/${sessionId}`)) as {
    readonly revert?: unknown;
  };
  const messages = await rig.opencode.messages(sessionId);
  return { revert, messages, requests: rig.requests({ sessionId, lane: "any" }).length };
}

/** Longer than a result that may be delivered waits. */
const QUIET_MS = 2_500;

describe("what the user takes back", () => {
  const shared = shareRig({ plugin: {} });

  scenario(
    "a fork whose launch was undone reports to nobody until it is asked for",
    {
      shared,
      proves:
        "the undone messages stay, nothing is inserted then or later, a toast offers the result, fork_result gives it",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script(childOf("alpha"));
      await rig.turn(id, "Hello.", [say("Hello.")]);
      await rig.turn(id, "Fork.", forkTurn("alpha"));
      await firstChildRequest(rig, id);
      await undo(rig, id);
      const before = await pictureOf(rig, id);
      letGo(rig, "alpha");
      await waitForRuns(rig, id, ["completed"]);
      await rig.waitFor(() => toastsOf(rig).some((text) => text.includes("not inserted")), "the offer");
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

  scenario(
    "after /redo everything is there, and the result comes once",
    { shared, proves: "undone and restored while the child works and again after its end" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        ...childOf("beta"),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Hello.", [say("Hello.")]);
      await rig.turn(id, "Fork.", forkTurn("beta"));
      const stored = await rig.opencode.messages(id);
      await firstChildRequest(rig, id);
      await undo(rig, id);
      await redo(rig, id);
      await undo(rig, id);
      letGo(rig, "beta");
      await waitForRuns(rig, id, ["completed"]);
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toEqual([]);
      await redo(rig, id);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
      expect((await rig.opencode.messages(id)).slice(0, stored.length)).toEqual(stored);
    },
  );

  scenario(
    "a result waits while the user is elsewhere in the past, and comes again when its carrier was undone",
    { shared, proves: "delivered with the message with which the user goes on, each time once" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script(childOf("gamma"));
      await rig.turn(id, "Fork.", forkTurn("gamma"));
      await firstChildRequest(rig, id);
      await rig.turn(id, "More.", [say("More.")]);
      await undo(rig, id);
      const before = await pictureOf(rig, id);
      letGo(rig, "gamma");
      await waitForRuns(rig, id, ["completed"]);
      await pause(QUIET_MS);
      expect(await pictureOf(rig, id)).toEqual(before);
      await rig.turn(id, "On.", [say("I see.")]);
      expect((await carriersOf(rig, id)).map(({ count }) => count)).toEqual([1]);
      await rig.waitFor(
        async () =>
          (await forksOf(rig, id)).every(
            ({ runs: [run] }) => run && "delivery" in run && run.delivery.state === "acked",
          ),
        "the answer to be noticed",
      );
      await undo(rig, id);
      await pause(QUIET_MS);
      await rig.turn(id, "On, differently.", [say("I see again.")]);
      expect(textOf(requestWith(rig, id, "On, differently."))).toContain("Report gamma.");
      await pause(QUIET_MS);
      expect(await deliveriesOf(rig, id)).toHaveLength(1);
    },
  );
});
