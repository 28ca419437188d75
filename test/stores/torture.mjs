// Node 20 does not read TypeScript: bundle the program, then run it.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";

const folder = mkdtempSync(join(fileURLToPath(new URL("../../node_modules", import.meta.url)), ".torture-"));
try {
  const input = fileURLToPath(new URL("./torture.ts", import.meta.url));
  const build = await rolldown({ input, platform: "node", external: ["rolldown"], logLevel: "silent" });
  await build.write({ dir: folder, format: "esm", entryFileNames: "torture.mjs" });
  await build.close();
  const { torture } = await import(pathToFileURL(join(folder, "torture.mjs")).href);
  await torture(new URL("./", import.meta.url).href);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
