import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { VERSION } from "../../../src/plugin/loaded-notice.ts";
import { say } from "../../rig/model-server/step.ts";
import { toolNamesOf } from "../../rig/opencode/shared-prefix.ts";
import type { HostRig } from "./host-rig.ts";
import { PACKED_FOLDER } from "./plugin-specs.ts";
import { PROBE } from "./probe.ts";
import { describeHosts, scenario } from "./scenario.ts";

const SAID = `Carryover ${VERSION} is loaded`;
const OUR_TOOLS = ["fork", "fork_result", "fork_cancel", "recall"];

describeHosts("the plugin is loaded", (host) => {
  host.scenario(
    "a probe beside our plugin",
    {
      plugin: {},
      probes: { probe: PROBE },
      proves:
        "OpenCode loads both and declares the tools of both; people are told once, the log at every start",
    },
    async (rig) => {
      const told = (): number => rig.notices().filter((text) => text.includes(`${SAID}.`)).length;
      const logged = (): number =>
        rig
          .log()
          .split(/\n/)
          .filter((line) => line.includes(SAID) && !line.includes(`${SAID}.`)).length;
      expect(await declaredTools(rig)).toEqual(expect.arrayContaining(["probe", ...OUR_TOOLS]));
      await rig.waitFor(() => told() === 1, "the word to the person");
      await rig.restart();
      expect(await declaredTools(rig)).toEqual(expect.arrayContaining(["probe", ...OUR_TOOLS]));
      await rig.waitFor(() => logged() === 2, "two lines in the log");
      expect(told()).toBe(1);
    },
  );

  if (existsSync(PACKED_FOLDER))
    host.scenario(
      "the packed package",
      {
        // Version 2 takes a folder only where its package names one file for all.
        otherPlugins: [host.name === "opencode" ? PACKED_FOLDER : join(PACKED_FOLDER, "dist/server.js")],
        proves: "OpenCode finds the plugin entry and not the library",
      },
      async (rig) => {
        expect(await declaredTools(rig)).toEqual(expect.arrayContaining(OUR_TOOLS));
      },
    );
});

scenario(
  "the line in OpenCode's log",
  { plugin: {}, proves: "it says which plugin it is of" },
  async (rig) => {
    await declaredTools(rig);
    await rig.waitFor(() => new RegExp(`message="?${SAID}.*service=carryover`).test(rig.log()), "the line");
  },
);

async function declaredTools(rig: HostRig): Promise<readonly string[]> {
  const id = await rig.newSession();
  await rig.turn(id, "Hello.", [say("Hello.")]);
  const request = rig.requests({ sessionId: id }).at(-1);
  if (request === undefined) throw new Error("Nothing was asked");
  return toolNamesOf(request);
}
