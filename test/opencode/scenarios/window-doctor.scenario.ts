import { expect } from "vitest";
import { installOpenCode, OPENCODE_VERSION } from "../../rig/opencode/install-opencode.ts";
import { writeConfig } from "../../rig/opencode/sandbox.ts";
import { pluginSpecs } from "../harness/plugin-specs.ts";
import { scenario } from "../harness/scenario.ts";
import { runCarryover } from "./window-support.ts";

scenario(
  "the doctor",
  {
    start: "later",
    proves:
      "it finds nothing to do where all is well, and the self-test sees our edits in what the model is sent",
  },
  async (rig) => {
    const opencode = ["--opencode", await installOpenCode()];
    const [spec] = pluginSpecs({ plugin: { prune: "auto" } });
    writeConfig(rig.sandbox, { modelUrl: rig.model.url, config: { plugin: [spec] } });
    const well = await runCarryover(rig, "doctor", "--json", ...opencode);
    const { findings } = JSON.parse(well.stdout);
    expect(findings.filter(({ level }: Level) => level !== "ok")).toEqual([]);
    expect(findings.map(({ check }: Level) => check)).toEqual([
      "opencode",
      "configured",
      "store",
      "self-test: tools",
      "self-test: outputs",
      "self-test: messages",
      "self-test: results",
    ]);
    expect(findings[0].what).toContain(OPENCODE_VERSION);
    expect(well.code).toBe(0);

    writeConfig(rig.sandbox, {
      modelUrl: rig.model.url,
      config: {
        compaction: { auto: false, prune: true },
        plugin: [spec, "@tarquinen/opencode-dcp"],
      },
    });
    const ill = await runCarryover(rig, "doctor", "--no-self-test", ...opencode);
    expect(ill.code).toBe(2);
    expect(ill.stdout).toContain("comes after carryover");
    expect(ill.stdout).toContain("compaction.auto is false");
    expect(ill.stdout).toContain("Set compaction.prune to false.");
    expect(ill.stderr).toContain("3 things have to be done");

    writeConfig(rig.sandbox, { modelUrl: rig.model.url });
    const broken = await runCarryover(
      rig,
      "doctor",
      "--json",
      "--plugin",
      "/nowhere/carryover.mjs",
      ...opencode,
    );
    expect(broken.stdout).toContain("the plugin was not loaded");
    expect(broken.stdout).toContain("the plugin is in no configuration");
    expect(broken.code).toBe(2);
  },
);

interface Level {
  readonly check: string;
  readonly level: string;
}
