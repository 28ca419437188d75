import { mkdirSync } from "node:fs";
import { root, run } from "./run.mjs";

// The main job on an embedded example: show what fills the window of a recorded OpenCode session, and why.
run(process.execPath, ["scripts/build.mjs"]);
mkdirSync(`${root}.carryover`, { recursive: true });
run(process.execPath, [
  "dist/cli.js",
  "inspect",
  "examples/sessions/opencode-session.json",
  "--top",
  "4",
  "--html",
  ".carryover/inspector.html",
  "--force",
]);
