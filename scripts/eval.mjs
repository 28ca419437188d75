import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { bundle } from "./bundle.mjs";
import { root } from "./run.mjs";

// `npm run eval -- <folder>`: the command line as it is now, without building the package.
mkdirSync(`${root}.rig`, { recursive: true });
await bundle("src/cli/main.ts", ".rig/eval.js");
const { status } = spawnSync(process.execPath, [`${root}.rig/eval.js`, "eval", ...process.argv.slice(2)], {
  stdio: "inherit",
  cwd: process.env.INIT_CWD ?? process.cwd(),
});
process.exitCode = status ?? 1;
