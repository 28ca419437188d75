import { expect } from "vitest";
import { call, say } from "../../rig/model-server/step.ts";
import { scenario } from "../harness/scenario.ts";
import {
  handlesIn,
  journalOf,
  longPrompt,
  makeReports,
  messagesOf,
  prunedLinesOf,
  REPORT_FILES,
  runCarryover,
} from "./window-support.ts";

scenario(
  "undo from another process",
  {
    plugin: {
      prune: "auto",
      toolOutput: false,
      models: { "scripted/long-window": { keepTokens: 1_000, facts: { cache: "none" } } },
    },
    why: "by default nothing is pruned before the window is nearly full; so it begins after a few turns",
    twin: { none: "with default options the plugin makes no edit that could be taken back" },
    files: REPORT_FILES,
    proves: "our last edit is taken back in the journal while nothing runs, and in the plugin while it does",
  },
  async (rig) => {
    const id = await rig.newSession();
    const lastRequest = () => rig.requests({ sessionId: id }).at(-1);
    await rig.turn(id, "Make four.", makeReports(["first", "second", "third", "fourth"]));
    for (const turn of [2, 3, 4]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
    expect(handlesIn(lastRequest())).not.toEqual([]);
    expect((await prunedLinesOf(rig, id))[0]).toMatch(
      /^\*pruned: \d+ old outputs?; recall brings them back\*$/,
    );

    await rig.kill9();
    const offline = await runCarryover(rig, "undo", "--json");
    expect(offline.stderr).toBe("");
    expect(JSON.parse(offline.stdout)).toMatchObject({
      sessionId: id,
      where: "journal",
      edits: expect.any(Number),
    });
    expect((await runCarryover(rig, "undo")).code).toBe(2);
    await rig.restart();
    await rig.turn(id, "And now?", [say("Seen.")]);
    expect(handlesIn(lastRequest())).toEqual([]);

    for (const turn of [5, 6, 7, 8, 9]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
    expect(handlesIn(lastRequest())).not.toEqual([]);
    const online = await runCarryover(rig, "undo", "--session", id, "--json");
    expect(online.stderr).toBe("");
    expect(JSON.parse(online.stdout)).toMatchObject({
      sessionId: id,
      where: "plugin",
      edits: expect.any(Number),
    });
    await rig.turn(id, "And now?", [say("Seen.")]);
    expect(handlesIn(lastRequest())).toEqual([]);
    const entries = await journalOf(rig, id);
    expect(entries.filter((entry) => entry.type === "engine" && entry.record.type === "undo")).toHaveLength(
      2,
    );
    const requests = entries.filter((entry) => entry.type === "request");
    expect(requests.length).toBeGreaterThanOrEqual(rig.requests({ sessionId: id }).length - 2);
    expect(requests[0]).toMatchObject({ model: "scripted/long-window", inputTokens: expect.any(Number) });
  },
);

scenario(
  "a fork is listed, shown and stopped from another process",
  {
    plugin: {},
    proves:
      "`carryover forks` shows it as running, `forks open` brings it to the screen, `forks cancel` stops it within seconds, and its parent is told",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([call("bash", { command: "sleep 120", description: "Wait" }, { family: "child" })]);
    await rig.turn(id, "Fork it.", [call("fork", { prompt: "Wait.", title: "Waiter" }), say("Forked.")]);
    const running = await rig.waitFor(async () => {
      const { stdout } = await runCarryover(rig, "forks", "--json");
      const [fork] = JSON.parse(stdout).forks;
      return fork?.state.startsWith("running") && fork.calls === 1 && fork;
    }, "the fork in the list");
    const { project } = rig.sandbox;
    expect(running).toMatchObject({ title: "Waiter", isLive: true, parentSessionId: id, project });
    expect((await runCarryover(rig, "forks")).stdout).toContain(`${project}, session ${id}\n  #1  Waiter`);

    const opened = await runCarryover(rig, "forks", "open", "1");
    expect(opened.stdout).toBe(`Fork ${running.id} is on the screen.\n`);
    expect(opened.code).toBe(0);
    const selected = rig.events.filter(({ type }) => type === "tui.session.select");
    expect(selected.map(({ properties }) => properties.sessionID)).toEqual([running.childSessionId]);

    rig.model.script([say("It was stopped.", { sessionId: id })]);
    const stopped = await runCarryover(rig, "forks", "cancel", "1");
    expect(stopped.stdout).toContain("is cancelled.");
    expect(stopped.code).toBe(0);
    const told = await rig.waitFor(
      () =>
        rig
          .requests({ sessionId: id })
          .map((request) => JSON.stringify(messagesOf(request)))
          .find((messages) => messages.includes("cancelled")),
      "the parent to be told",
    );
    expect(told).toContain("Waiter");
    expect((await runCarryover(rig, "forks", "cancel", running.id)).code).toBe(2);
    expect((await runCarryover(rig, "forks")).stdout).toContain("cancelled after");
  },
);
