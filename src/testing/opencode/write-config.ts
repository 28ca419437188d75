import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "./sandbox.ts";
import { type ScriptedConfigOptions, scriptedConfig } from "./scripted-config.ts";

/** Puts the configuration where OpenCode finds it, in the place of the one before. */
export function writeConfig(sandbox: Sandbox, options: ScriptedConfigOptions): void {
  const file = join(sandbox.configFolder, "opencode.json");
  writeFileSync(file, JSON.stringify(scriptedConfig(options), null, 2));
}
