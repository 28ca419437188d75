import { mkdirSync } from "node:fs";
import { root, step, sumOfTests } from "./run.mjs";

// What a contributor runs before every commit, in the order in which a fault is cheapest to find. What needs another
// program (OpenCode, a browser, PostgreSQL, Bun, Node 24) is in `npm run test:hosts`.
const results = `${root}reports/tests.json`;
mkdirSync(`${root}reports`, { recursive: true });

step("types", "tsc", ["-p", "tsconfig.json"]);
step("types of the page", "tsc", ["-p", "src/inspector/page"]);
step("lint", "biome", ["check", "."]);
step("build", process.execPath, ["scripts/build.mjs"]);
step("package", "publint", ["--strict"]);
step("package types", "attw", ["--pack", ".", "--profile", "esm-only"]);
step("engine in one file", process.execPath, ["scripts/bundle-engine.mjs"]);
step("size", "size-limit", []);
step("tests", "vitest", ["run", "--reporter=default", "--reporter=json", `--outputFile.json=${results}`]);
sumOfTests([results]);
