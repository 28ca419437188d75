import { mkdirSync } from "node:fs";
import { rolldown } from "rolldown";
import { root, run } from "./run.mjs";

// Node 20 does not run TypeScript: bundle our own code, leave packages where they are, run the result.
const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node scripts/run-ts.mjs <file.ts> [arguments]");
  process.exit(2);
}
const out = `${root}node_modules/.cache/carryover/${file.replace(/[^\w]+/g, "-")}.mjs`;
mkdirSync(`${root}node_modules/.cache/carryover`, { recursive: true });
const bundle = await rolldown({
  input: `${root}${file}`,
  platform: "node",
  external: (id) => !id.startsWith(".") && !id.startsWith("/"),
  logLevel: "warn",
});
await bundle.write({ file: out, format: "esm" });
run(process.execPath, ["--expose-gc", out, ...args]);
