import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { call, say } from "../../rig/model-server/step.ts";
import { scenario } from "../harness/scenario.ts";
import { forksOf, pause } from "./delivery-support.ts";
import { childrenOf, deliveriesOf, requestWith, textOf } from "./fork-support.ts";

/** Ends the program the moment a child is done, before any other plugin hears of it. */
const KILLER = `
import { existsSync, unlinkSync } from "node:fs";
import { join } from "node:path";
export default {
  id: "killer",
  server: async ({ directory }) => ({
    event: async ({ event }) => {
      const order = join(directory, "kill-at-idle");
      if (event.type !== "session.idle" || !existsSync(order)) return;
      unlinkSync(order);
      process.kill(process.pid, "SIGKILL");
    },
  }),
};
`;

scenario(
  "a child that finished while nobody was there to hear it is delivered",
  {
    plugin: {},
    probes: { killer: KILLER },
    proves: "completed, not interrupted; nothing wakes the parent; the user's first message carries it, once",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([say("The report.", { family: "child", delayMs: 4_000 })]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
    writeFileSync(join(rig.sandbox.project, "kill-at-idle"), "");
    await rig.waitFor(
      () =>
        rig.opencode.messages(id).then(
          () => false,
          () => true,
        ),
      "the end of the program",
    );
    expect((await forksOf(rig, id)).map(({ runs }) => runs[0]?.state)).toEqual(["running"]);
    await rig.restart();
    await rig.turn(id, "What came of it?", [say("I see.")]);
    expect(textOf(requestWith(rig, id, "What came of it?"))).toContain("The report.");
    expect((await forksOf(rig, id)).map(({ runs }) => runs[0]?.state)).toEqual(["completed"]);
    await pause(2_500);
    expect(await deliveriesOf(rig, id)).toHaveLength(1);
    expect(await childrenOf(rig, id)).toHaveLength(1);
  },
);
