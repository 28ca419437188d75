import { existsSync, readdirSync, statSync } from "node:fs";
import { root, run } from "./run.mjs";

// The agent of examples/agent on the package as it is built; built again where a source is newer than what is written
// last. It runs in this process, so that Ctrl-C reaches nothing else.
const last = `${root}dist/inspector/app.js`;
const builtMs = existsSync(last) ? statSync(last).mtimeMs : 0;
const sources = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" });
if (sources.some((file) => statSync(`${root}src/${file}`).mtimeMs > builtMs))
  run(process.execPath, ["scripts/build.mjs"]);
await import("../examples/agent/main.mjs");
