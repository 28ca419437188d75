import { spawnSync } from "node:child_process";
import { installPackage } from "../test/rig/install-package.ts";
import { installOpenCode, OPENCODE_VERSION } from "../test/rig/opencode/install-opencode.ts";
import { findOpencode2, NO_OPENCODE2 } from "../test/rig/opencode2/start-opencode2.ts";

// What the end-to-end tests need and npm ci does not bring. In CI it must be there; elsewhere the tests say what they skip.
try {
  await installOpenCode();
  console.log(`OpenCode ${OPENCODE_VERSION} is there`);
} catch (error) {
  console.log(`OpenCode ${OPENCODE_VERSION} is not there: ${(error as Error).message}`);
  if (process.env.CI === "true") process.exitCode = 1;
}

// It cannot be installed from a registry: whoever has it says where. The one thing that CI may skip.
console.log(findOpencode2() === undefined ? NO_OPENCODE2 : "OpenCode 2 is there");

for (const shell of ["zsh", "fish"]) {
  if (spawnSync(shell, ["--version"]).status === 0) continue;
  const problem = await installPackage(shell);
  if (problem === undefined) continue;
  console.log(`${shell} is not there: ${problem}`);
  if (process.env.CI === "true") process.exitCode = 1;
}
