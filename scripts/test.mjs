import { mkdirSync, readFileSync } from "node:fs";
import { root, step } from "./run.mjs";

// Everything that must hold, in the order in which a fault is cheapest to find.
const results = `${root}reports/tests.json`;
const scenarios = `${root}reports/opencode.json`;
mkdirSync(`${root}reports`, { recursive: true });

step("types", "tsc", ["-p", "tsconfig.json"]);
step("lint", "biome", ["check", "."]);
step("build", process.execPath, ["scripts/build.mjs"]);
step("package", "publint", ["--strict"]);
step("package types", "attw", ["--pack", ".", "--profile", "esm-only"]);
step("engine in one file", process.execPath, ["scripts/bundle-engine.mjs"]);
step("size", "size-limit", []);
step("the engine in Node 24 and in a browser", process.execPath, ["scripts/test-runtimes.mjs"]);
step("OpenCode for the end-to-end tests", process.execPath, ["scripts/run-ts.mjs", "scripts/install-rig.ts"]);
step("tests", "vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${results}`]);

process.env.CARRYOVER_BUILT = "1";
step("scenarios in the real OpenCode", process.execPath, ["scripts/test-opencode.mjs"]);
step("the engine in Bun", process.execPath, ["scripts/test-bun.mjs"]);

const runs = [results, scenarios].map((file) => JSON.parse(readFileSync(file, "utf8")));
const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
console.log(
  `\n${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${sum("numPendingTests")} skipped`,
);
if (sum("numFailedTests") > 0) process.exit(1);
