// Node 20 does not read TypeScript, so the recorder is bundled first: node scripts/record-opencode/run.mjs [case ...]
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "rolldown";

const output = fileURLToPath(new URL("../../.rig/build/record-opencode.mjs", import.meta.url));
await build({
  input: fileURLToPath(new URL("./record.ts", import.meta.url)),
  platform: "node",
  output: { file: output, format: "esm" },
});
const { record } = await import(pathToFileURL(output).href);
await record(process.argv.slice(2));
