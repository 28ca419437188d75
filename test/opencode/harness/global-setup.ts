import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { rolldown } from "rolldown";
import { installOpenCode } from "../../rig/opencode/install-opencode.ts";
import { PACKED_FOLDER, PLUGIN_ENTRY, PLUGIN_FILE } from "./plugin-specs.ts";

/** Before the first scenario: the binary is there, the plugin is one file, the package that was built is unpacked. */
export async function setup(): Promise<void> {
  await installOpenCode();
  if (existsSync(PLUGIN_ENTRY)) await buildPlugin();
  unpackPackage();
}

const PROJECT = resolve(import.meta.dirname, "../../..");

async function buildPlugin(): Promise<void> {
  const bundle = await rolldown({ input: PLUGIN_ENTRY, platform: "node", logLevel: "warn" });
  // Written aside and renamed: another run may be loading it.
  const aside = `${PLUGIN_FILE}.${process.pid}`;
  await bundle.write({ file: aside, format: "esm", codeSplitting: false });
  await bundle.close();
  renameSync(aside, PLUGIN_FILE);
}

function unpackPackage(): void {
  const folder = dirname(PACKED_FOLDER);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    cwd: PROJECT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename }] = JSON.parse(packed) as [{ readonly filename: string }];
  execFileSync("tar", ["-xzf", resolve(folder, filename), "-C", folder]);
}
