import { mkdirSync, readFileSync } from "node:fs";
import { root, step } from "./run.mjs";

// Everything that must hold, in the order in which a fault is cheapest to find.
const results = `${root}reports/tests.json`;
mkdirSync(`${root}reports`, { recursive: true });

step("types", "tsc", ["-p", "tsconfig.json"]);
step("lint", "biome", ["check", "."]);
step("build", process.execPath, ["scripts/build.mjs"]);
step("package", "publint", ["--strict"]);
step("package types", "attw", ["--pack", ".", "--profile", "esm-only"]);
step("engine in one file", process.execPath, ["scripts/bundle-engine.mjs"]);
step("size", "size-limit", []);
step("OpenCode for the end-to-end tests", process.execPath, ["scripts/run-ts.mjs", "scripts/install-rig.ts"]);
step("tests", "vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${results}`]);

step("the engine in Bun", process.execPath, ["scripts/test-bun.mjs"]);

const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(results, "utf8"));
console.log(`\n${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
if (numFailedTests > 0) process.exit(1);
