import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { call, say } from "../../rig/model-server/step.ts";
import { PLUGIN_FILE } from "../harness/plugin-specs.ts";
import { scenario } from "../harness/scenario.ts";
import { firstChildRequest, textOf, toastsOf } from "./fork-support.ts";

scenario(
  "options that are wrong do not stop the host",
  {
    plugin: { prune: "on", bogus: 1, fork: { maxRunning: 0, timeoutMin: 5 } },
    why: "the options are what is wrong",
    twin: { none: "default options cannot be wrong" },
    proves:
      "every problem in one toast and one log line; nothing of ours starts, and the conversation goes on",
  },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "Hello.", [say("Good day.")]);
    await rig.turn(id, "Again.", [say("Good day again.")]);
    const told = toastsOf(rig).filter((text) => text.includes("until its options are corrected"));
    expect(told).toHaveLength(1);
    for (const problem of ['prune is "on"', "bogus is not an option", "fork.maxRunning is 0"]) {
      expect(told[0]).toContain(problem);
    }
    const folder = join(rig.sandbox.home, ".local", "share", "opencode", "log");
    const log = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    expect(log.join("").split("until its options are corrected").length - 1).toBe(1);
  },
);

const WITHOUT_THE_HOOK = `import plugin from ${JSON.stringify(pathToFileURL(PLUGIN_FILE).href)};
export default {
  id: "carryover",
  async server(...input) {
    const hooks = await plugin.server(...input);
    delete hooks["experimental.chat.messages.transform"];
    return hooks;
  },
};`;

scenario(
  "a host without the hook",
  {
    probes: { "without-the-hook": WITHOUT_THE_HOOK },
    files: { "notes.txt": "The cat is grey.\n" },
    proves: "the child gets the conversation as text, outputs included, and the user is told",
  },
  async (rig) => {
    const id = await rig.newSession();
    await rig.turn(id, "What colour is the cat?", [
      call("bash", { command: "cat notes.txt", description: "Read" }),
      say("Grey."),
    ]);
    rig.model.script([say("The report.", { family: "child" })]);
    await rig.turn(id, "Fork it.", [call("fork", { prompt: "Check the colour." }), say("Forked.")]);
    const child = await firstChildRequest(rig, id);
    expect(textOf(child)).toContain("<inherited_context");
    expect(textOf(child)).toContain("The cat is grey.");
    await rig.waitFor(() => toastsOf(rig).some((text) => text.includes("as text")), "the toast");
    await rig.waitFor(async () => !(await rig.opencode.isBusy(id)), "the parent at rest");
  },
);
