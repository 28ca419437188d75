import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { call, say } from "../../rig/model-server/step.ts";
import { sharedPrefix } from "../../rig/opencode/shared-prefix.ts";
import { scenario } from "../harness/scenario.ts";
import {
  childrenOf,
  deliveriesOf,
  firstChildRequest,
  requestWith,
  textOf,
  waitForDeliveries,
  waitForEnds,
} from "./fork-support.ts";

scenario(
  "a fork that was killed with the host is reported, and resumes with its prefix",
  {
    plugin: {},
    proves: "interrupted, told with the user's next message, the next run reads the inherited prefix",
  },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "The cat is grey.", [say("Noted.")]);
    rig.model.script([
      call("bash", { command: "sleep 60", description: "Wait" }, { family: "child", text: "Half." }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look long." }), say("Forked.")]);
    const before = await firstChildRequest(rig, id);
    await rig.waitFor(async () => {
      const [child] = await childrenOf(rig, id);
      return child !== undefined && (await rig.opencode.messages(child.id)).length >= 2;
    }, "the child at work");
    await rig.kill9();
    await rig.restart();
    await rig.opencode.messages(id);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await deliveriesOf(rig, id)).toEqual([]);
    rig.model.script([
      say("All.", { family: "child" }),
      say("Good.", { sessionId: id, contains: "All.\\n</fork_result>" }),
    ]);
    await rig.turn(id, "What happened?", [call("fork", { prompt: "Go on.", resume: "1" }), say("Resumed.")]);
    expect(textOf(requestWith(rig, id, "What happened?"))).toContain('state=\\"interrupted\\"');
    const delivered = await waitForDeliveries(rig, id, 2);
    expect(new Set(delivered).size).toBe(2);
    const resumed = rig.requests({ parentSessionId: id }).at(-1);
    if (resumed === undefined) throw new Error("No second run");
    expect(sharedPrefix(before, resumed).share).toBeGreaterThan(0.99);
    expect(textOf(resumed)).toContain("Go on.");
    expect(await childrenOf(rig, id)).toHaveLength(1);
  },
);

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
