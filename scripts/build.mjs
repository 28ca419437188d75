import { chmodSync, rmSync } from "node:fs";
import { rolldown } from "rolldown";
import { root, run } from "./run.mjs";

// The library is plain tsc output, so that a stack trace names our files; the command line is one bundle, so that
// the package needs no runtime dependency.
rmSync(`${root}dist`, { recursive: true, force: true });
run("tsc", ["-p", "tsconfig.build.json"]);

const bundle = await rolldown({ input: `${root}src/hosts/cli/main.ts`, platform: "node", logLevel: "warn" });
await bundle.write({ file: `${root}dist/cli.js`, format: "esm", banner: "" });
chmodSync(`${root}dist/cli.js`, 0o755);
