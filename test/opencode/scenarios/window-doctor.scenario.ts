import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Finding } from "../../../src/cli/doctor/check.ts";
import { diagnoseOpencode } from "../../../src/cli/doctor/opencode.ts";
import { buildCli } from "../../rig/build-cli.ts";
import { installOpenCode, OPENCODE_VERSION } from "../../rig/opencode/install-opencode.ts";
import { writeConfig } from "../../rig/opencode/sandbox.ts";
import { SET_UPS, writeSetUp } from "../../rig/opencode/set-ups.ts";
import { PACKED_FOLDER, PLUGIN_FILE, pluginSpecs } from "../harness/plugin-specs.ts";
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
    writeConfig(rig.sandbox, { modelUrl: rig.model.url });
    const folder = join(rig.sandbox.project, ".opencode");
    cpSync(rig.sandbox.configFolder, folder, { recursive: true });
    mkdirSync(join(folder, "plugin"));
    const again = `export { default } from ${JSON.stringify(PLUGIN_FILE)};\n`;
    writeFileSync(join(folder, "plugin", "mine.ts"), again);
    const bare = await runCarryover(rig, "doctor", "--no-self-test", ...opencode);
    expect(bare.stdout).toContain("/forks is missing: no tui.json names the plugin");
    expect(bare.code).toBe(0);
    writeFileSync(join(folder, "tui.json"), JSON.stringify({ plugin: [PACKED_FOLDER] }));
    const well = await runCarryover(rig, "doctor", "--json", ...opencode);
    const { findings } = JSON.parse(well.stdout) as { readonly findings: readonly Finding[] };
    expect(findings.filter(({ level }) => level !== "ok")).toEqual([]);
    expect(findings.map(({ check }) => check)).toEqual([
      "opencode",
      "configured",
      "terminal",
      "store",
      "last-start",
      "registered",
      "self-test: tools",
      "self-test: outputs",
      "self-test: messages",
      "self-test: results",
    ]);
    expect(findings[0]?.what).toContain(OPENCODE_VERSION);
    expect(findings[1]?.what).toContain("mine.ts");
    expect(well.code).toBe(0);

    execFileSync("rm", ["-r", join(folder, "plugin")]);
    const [spec] = pluginSpecs({ plugin: { prune: "auto" } });
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
    expect(ill.stdout).toContain("was not asked whether it has our tools");
    expect(ill.stderr).toContain("3 things have to be done");

    writeConfig(rig.sandbox, { modelUrl: rig.model.url, config: { permission: { "*": "deny" } } });
    const broken = await runCarryover(rig, "doctor", "--json", ...opencode);
    expect(broken.stdout).toContain("the plugin is in no configuration");
    expect(broken.stdout).toContain("OpenCode does not have fork, fork_result, fork_cancel, recall");
    expect(broken.code).toBe(2);
  },
);

scenario(
  "the doctor on a full disk",
  { start: "later", proves: "a store that cannot take one more output is a problem" },
  async (rig) => {
    const disk = join(rig.sandbox.root, "disk");
    mkdirSync(disk);
    const doctor = `"${process.execPath}" "${await buildCli()}" doctor --no-self-test --json --store "${disk}/store"`;
    const script = `mount -t tmpfs -o size=128k tmpfs "${disk}" && mkdir "${disk}/store" && chmod 700 "${disk}/store" && { head -c 200000 /dev/zero > "${disk}/fill" 2>/dev/null; ${doctor}; }`;
    const { stdout, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", script], {
      cwd: rig.sandbox.project,
      env: rig.sandbox.env,
      encoding: "utf8",
    });
    if (/unshare|mount:/.test(stderr)) return console.warn(`No full disk can be made here: ${stderr}`);
    expect(stdout).toContain("the disk is full (ENOSPC)");
  },
);

scenario(
  "the doctor and the real OpenCode agree",
  {
    files: {},
    proves: "in no set-up does it find nothing to do where OpenCode has none of our tools",
  },
  async (rig) => {
    const opencode = await installOpenCode();
    const rows: string[] = [];
    for (const [index, setUp] of SET_UPS.entries()) {
      // One cache and one environment are shared by all folders of one OpenCode.
      if (setUp.env !== undefined || Object.keys(setUp.files ?? {}).some((path) => path.startsWith(".")))
        continue;
      const home = join(rig.sandbox.home, "set-ups", String(index));
      writeSetUp(home, setUp, PLUGIN_FILE);
      const directory = join(home, "project");
      if (Object.keys(setUp.files ?? {}).some((path) => path.includes("/.opencode/")))
        cpSync(rig.sandbox.configFolder, join(directory, ".opencode"), {
          recursive: true,
          filter: isNoConfig,
        });
      const findings = await diagnoseOpencode({
        directory,
        env: rig.sandbox.env,
        opencode,
        store: join(home, "store"),
        selfTest: false,
      });
      const problems = findings.filter(({ level }) => level === "problem");
      const url = new URL("/experimental/tool/ids", rig.opencode.url);
      url.searchParams.set("directory", directory);
      const tools = await (await fetch(url)).text();
      const registered = ["fork", "fork_result", "fork_cancel", "recall"].every((tool) =>
        tools.includes(`"${tool}"`),
      );
      const doctor = problems.length === 0 ? "ok" : "problem";
      rows.push(`${registered ? "tools" : "no tools"} · ${doctor} · ${setUp.name}`);
      expect({ name: setUp.name, registered, doctor }).toEqual({
        name: setUp.name,
        registered: setUp.registered,
        doctor: setUp.problem === undefined ? "ok" : "problem",
      });
    }
    expect(rows.length).toBeGreaterThan(18);
    rig.trap.forget(); // Packages that are not there are asked for.
    console.log(rows.join("\n"));
  },
);

const isNoConfig = (path: string): boolean => !path.endsWith("opencode.json");
