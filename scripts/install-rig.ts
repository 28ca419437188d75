import { spawnSync } from "node:child_process";
import { AGENT_PROGRAMS } from "../test/rig/agents/agent-programs.ts";
import { installOpenClaw, OPENCLAW_VERSION } from "../test/rig/agents/openclaw-program.ts";
import { installPackage } from "../test/rig/install-package.ts";
import { installOpenCode, OPENCODE_VERSION } from "../test/rig/opencode/install-opencode.ts";
import { findOpencode2, NO_OPENCODE2 } from "../test/rig/opencode2/start-opencode2.ts";

// Programs that the end-to-end tests need and `npm ci` does not install. In CI they are required; elsewhere tests say
// what they skip.
await fetchProgram(`OpenCode ${OPENCODE_VERSION}`, installOpenCode);
for (const agent of AGENT_PROGRAMS.filter(({ isRare }) => !isRare))
  await fetchProgram(`${agent.name} ${agent.version}`, agent.install);
await fetchProgram(`OpenClaw ${OPENCLAW_VERSION}`, installOpenClaw);

// Not in a registry: set its path. The only program that CI may skip.
console.log(findOpencode2() === undefined ? NO_OPENCODE2 : "OpenCode 2 is there");

for (const shell of ["zsh", "fish"]) {
  if (spawnSync(shell, ["--version"]).status === 0) continue;
  const problem = await installPackage(shell);
  if (problem === undefined) continue;
  console.log(`${shell} is not there: ${problem}`);
  if (process.env.CI === "true") process.exitCode = 1;
}

async function fetchProgram(name: string, install: () => Promise<unknown>): Promise<void> {
  try {
    await install();
    console.log(`${name} is there`);
  } catch (error) {
    console.log(`${name} is not there: ${(error as Error).message}`);
    if (process.env.CI === "true") process.exitCode = 1;
  }
}
