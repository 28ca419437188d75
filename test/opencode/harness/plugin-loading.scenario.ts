import { existsSync } from "node:fs";
import { describe, expect } from "vitest";
import { say } from "../../rig/model-server/step.ts";
import { toolNamesOf } from "../../rig/opencode/shared-prefix.ts";
import { PACKED_FOLDER } from "./plugin-specs.ts";
import type { Rig } from "./rig.ts";
import { scenario } from "./scenario.ts";

const PROBE = `export default { id: "probe", server: async () => ({ tool: {
  probe: { description: "Probes", args: {}, execute: async () => "probed" },
} }) };`;

scenario(
  "a probe beside our plugin",
  { plugin: {}, probes: { probe: PROBE }, proves: "OpenCode loads both and declares the tools of both" },
  async (rig) => {
    expect(await declaredTools(rig)).toEqual(expect.arrayContaining(["probe", "fork", "recall"]));
  },
);

describe.skipIf(!existsSync(PACKED_FOLDER))("the package as it is published", () => {
  scenario(
    "the packed package, by its folder",
    { otherPlugins: [PACKED_FOLDER], proves: "OpenCode finds the plugin entry and not the library" },
    async (rig) => {
      expect(await declaredTools(rig)).toEqual(expect.arrayContaining(["fork", "recall"]));
    },
  );
});

async function declaredTools(rig: Rig): Promise<readonly string[]> {
  const id = await rig.newSession();
  await rig.turn(id, "Hello.", [say("Hello.")]);
  const [request] = rig.requests({ sessionId: id });
  if (request === undefined) throw new Error("Nothing was asked");
  return toolNamesOf(request);
}
