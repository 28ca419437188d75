import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { VERSION } from "../../../src/plugin/loaded.ts";
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

scenario(
  "the plugin says that it is loaded",
  { plugin: {}, proves: "a toast once for the version, and a line in the log at every start" },
  async (rig) => {
    const said = `Carryover ${VERSION} is loaded`;
    const toasts = (): number =>
      rig.events.filter(
        ({ type, properties }) => type === "tui.toast.show" && String(properties.message).includes(said),
      ).length;
    await declaredTools(rig);
    await rig.waitFor(() => toasts() === 1, "the toast");
    await rig.restart();
    await declaredTools(rig);
    await rig.waitFor(() => logOf(rig).split(`${said}`).length - 1 === 2, "two lines in the log");
    expect(logOf(rig)).toMatch(new RegExp(`message="?${said}.*service=carryover`));
    expect(toasts()).toBe(1);
  },
);

function logOf({ sandbox }: Rig): string {
  const folder = join(sandbox.home, ".local", "share", "opencode", "log");
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("");
}

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
  const request = rig.requests({ sessionId: id }).at(-1);
  if (request === undefined) throw new Error("Nothing was asked");
  return toolNamesOf(request);
}
