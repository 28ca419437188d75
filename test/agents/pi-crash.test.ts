import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { asObject } from "../../src/text/unknown-value.ts";
import type { AgentWorld } from "../rig/agents/agent-programs.ts";
import {
  ask,
  askWithoutUs,
  describePi,
  entriesOf,
  many,
  ofChild,
  outputsOf,
  resultsIn,
  textsOf,
} from "../rig/agents/pi-session.ts";
import { call, createGate, say } from "../rig/model-server/step.ts";
import { waitFor } from "../rig/wait-for.ts";

await describePi(({ server, world, manage, requests, open }) => {
  it("goes on after kill -9 in a call: what was trimmed and pruned is sent as before, each edit once", async () => {
    const session = await open([]);
    server.script([
      call("bash", { command: "seq 1 20000" }),
      ...many(13),
      call("bash", { command: "echo RUNNING; sleep 60" }),
    ]);
    await session.ask({ type: "prompt", message: "Read the files" });
    await waitFor(() => textsOf(server.requests.at(-1)).includes("file12.ts:190"), "the last output");
    await waitFor(() => JSON.stringify(entriesOf(world).at(-1)).includes("sleep 60"), "the call that sleeps");
    const before = outputsOf(server.requests.at(-1));
    const edits = editsOf();
    expect(edits.length).toBeGreaterThan(0);
    await session.kill();
    server.script([say("Going on.")]);
    await ask(world, "Go on", ["-c"]);
    const sent = server.requests.at(-1);
    expect(outputsOf(sent).slice(0, before.length)).toEqual(before);
    expect(textsOf(sent).split("Read the files")).toHaveLength(2);
    const targets = editsOf().map(({ targetId }) => targetId);
    expect(targets.slice(0, edits.length)).toEqual(edits.map(({ targetId }) => targetId));
    expect(new Set(targets).size).toBe(targets.length);
    server.script([call("recall", { search: "file0.ts value0" }), say("Found.")]);
    await ask(world, "What was in the first?", ["-c"]);
    expect(outputsOf(server.requests.at(-1)).at(-1)).toContain("file0.ts:");
  });

  it("goes on after kill -9 while a fork runs: the fork ends, and its result comes once", async () => {
    const gate = createGate();
    server.script([
      call("fork", { prompt: "Look for the lighthouse." }),
      ofChild({ text: "It is the LIGHTHOUSE.", after: gate.opened }),
      say("Started."),
    ]);
    const session = await open([]);
    await session.prompt("Fork it");
    await waitFor(() => childRequests().length > 0, "a request of the child");
    await session.kill();
    gate.open();
    server.script([say("Back."), say("So it is the lighthouse."), say("Yes."), say("Yes.")]);
    const again = await open(["-c"]);
    await again.command("/forks", /#1 Look for the lighthouse/);
    await again.prompt("Are you back?");
    await waitFor(() => resultsIn(requests().at(-1)).length === 1, "the result at the model");
    await again.settled(1);
    await again.prompt("Sure?");
    const [result = "", ...others] = resultsIn(server.requests.at(-1));
    expect(others).toEqual([]);
    expect(result).toContain("It is the LIGHTHOUSE.");
    expect(childRequests()).toHaveLength(1);
  });

  it("goes on after kill -9 right when a result came: it is in the session once", async () => {
    server.script([
      call("fork", { prompt: "Look for the lighthouse." }),
      ofChild({ text: "It is the LIGHTHOUSE." }),
      say("Started."),
      { reply: { type: "answer", text: "Late.", after: new Promise(() => {}) } },
    ]);
    const session = await open([]);
    await session.ask({ type: "prompt", message: "Fork it once more" });
    await waitFor(() => resultsIn(requests().at(-1)).length === 1, "the result at the model");
    await session.kill();
    server.discardSteps();
    server.script([say("Back."), say("Yes."), say("Yes.")]);
    const again = await open(["-c"]);
    await again.prompt("Are you back?");
    // Where pi had not stored it, it comes with a turn of its own.
    await waitFor(() => resultsIn(requests().at(-1)).length === 1, "the result at the model");
    await waitFor(
      async () => asObject((await again.ask({ type: "get_state" })).data).isStreaming === false,
      "rest",
    );
    await again.prompt("Sure?");
    expect(resultsIn(server.requests.at(-1))).toHaveLength(1);
  });

  it("tells once that a fork was killed", async () => {
    const gate = createGate();
    server.script([
      call("fork", { prompt: "Look for the lighthouse." }),
      ofChild({ text: "Never.", after: gate.opened }),
      say("Started."),
      say("I see."),
      say("Yes."),
    ]);
    const session = await open([]);
    await session.prompt("Fork it a third time");
    await waitFor(() => childRequests().length > 0, "a request of the child");
    process.kill(newestChild(world), "SIGKILL");
    await waitFor(() => resultsIn(requests().at(-1)).length === 1, "the end at the model");
    expect(resultsIn(server.requests.at(-1))[0]).toMatch(/state="(?:failed|interrupted)"/);
    await session.settled(2);
    await session.prompt("Sure?");
    expect(resultsIn(server.requests.at(-1))).toHaveLength(1);
    gate.open();
  });

  it("leaves nothing of ours in a run after pi remove, and what was pruned stays out of the window", async () => {
    server.script([...many(14), say("All read.")]);
    await ask(world, "Read the files");
    const pruned = outputsOf(server.requests.at(-1));
    expect(pruned[0]).toMatch(/\[whole result: /);
    await manage("remove");
    server.script([say("Yes.")]);
    await askWithoutUs(world, "Sure?", ["-c"]);
    const sent = server.requests.at(-1);
    expect(outputsOf(sent)).toEqual(pruned);
    expect(JSON.stringify(sent?.body.tools)).not.toMatch(/"(?:recall|fork\w*)"/);
    await manage("install");
  });

  const editsOf = () => entriesOf(world).filter(({ type }) => type === "context_edit");
  const childRequests = () => requests().filter((request) => textsOf(request).includes("You are fork"));
});

/** The process of the child that was noted last. */
function newestChild({ home }: AgentWorld): number {
  const folder = join(home, ".local", "share", "carryover", "forks");
  const [newest] = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith(".json") && /"schema":"pi-child.*"pid"/.test(readFileSync(file, "utf8")))
    .toSorted((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  const [, pid] = /"pid":\s*(\d+)/.exec(newest === undefined ? "" : readFileSync(newest, "utf8")) ?? [];
  if (!(Number(pid) > 1)) throw new Error(`no child is noted in ${folder}`);
  return Number(pid);
}
