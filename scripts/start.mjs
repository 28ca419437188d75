import { mkdirSync } from "node:fs";
import { root, run } from "./run.mjs";

// The main job on an embedded example: hand a recorded OpenCode session over to a child.
run(process.execPath, ["scripts/build.mjs"]);
mkdirSync(`${root}.carryover`, { recursive: true });
run(process.execPath, [
  "dist/cli.js",
  "fork",
  "examples/sessions/opencode-session.json",
  "--out",
  ".carryover/inherited-context.txt",
]);
