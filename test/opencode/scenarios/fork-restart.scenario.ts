import { expect } from "vitest";
import { call, say } from "../../../src/testing/model-server/say.ts";
import { sharedPrefix } from "../../../src/testing/opencode/shared-prefix.ts";
import { scenario } from "../harness/scenario.ts";
import {
  childrenOf,
  deliveriesOf,
  firstChildRequest,
  requestWith,
  textOf,
  waitForDeliveries,
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
