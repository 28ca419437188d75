import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { root, step, sumOfTests } from "./run.mjs";

// What `npm test` leaves out: everything that is shown in another program. Each host's scenarios run in the real one.
const programs = `${root}reports/hosts.json`;
const scenarios = `${root}reports/opencode.json`;
mkdirSync(`${root}reports`, { recursive: true });
for (const file of [programs, scenarios]) rmSync(file, { force: true });

if (!existsSync(`${root}dist/server.js`) || process.env.CI !== "true")
  step("build", process.execPath, ["scripts/build.mjs"]);
process.env.CARRYOVER_BUILT = "1";
step("engine in one file", process.execPath, ["scripts/bundle-engine.mjs"]);
step("the engine in Node 24 and in a browser", process.execPath, ["scripts/test-runtimes.mjs"]);
step("what the scenarios need", process.execPath, ["scripts/run-ts.mjs", "scripts/install-rig.ts"]);
const isThere = (shell) => spawnSync(shell, ["--version"]).status === 0;
process.env.CARRYOVER_SHELLS = ["bash", "zsh", "fish"].filter(isThere).join(" ");
step("a real browser, PostgreSQL, shells, the AI SDK, Claude Code, Codex and pi", "vitest", [
  ...["run", "--config", "vitest.hosts.config.ts"],
]);
step("the real OpenCode", process.execPath, ["scripts/test-opencode.mjs"]);
step("the engine in Bun", process.execPath, ["scripts/test-bun.mjs"]);
sumOfTests([programs, scenarios]);
