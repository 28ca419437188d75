import { existsSync, readdirSync } from "node:fs";
import { root, run } from "./run.mjs";

// The engine runs wherever JavaScript does; here in the Bun that OpenCode carries, so nothing more is downloaded.
const rig = process.env.CARRYOVER_RIG ?? `${root}.rig`;
const folder = existsSync(rig) ? readdirSync(rig).find((name) => name.startsWith("opencode-")) : undefined;
const packages = `${rig}/${folder}/node_modules`;
const name = folder && readdirSync(packages).find((entry) => entry.startsWith("opencode-"));
if (name === undefined) {
  console.log("skipped: the engine in Bun (OpenCode, which carries Bun, is not installed)");
  process.exit(process.env.CI === "true" ? 1 : 0);
}
const rooms = [
  "text/",
  "transcript/",
  "stages/",
  "fork/",
  "compaction/",
  "tool-output/",
  "session/",
  "formats/",
  "stores/memory",
];
run(
  `${packages}/${name}/bin/opencode`,
  ["--bun", "node_modules/vitest/vitest.mjs", "run", ...rooms.map((room) => `src/${room}`)],
  {
    // Properties have had all their runs in Node; here it is the runtime that is in question.
    env: { FUZZ_RUNS: "100", ...process.env, BUN_BE_BUN: "1", CARRYOVER_EXPECT_BUN: "1" },
  },
);
