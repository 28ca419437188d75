import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { rolldown } from "rolldown";
import { root } from "./run.mjs";

/** Makes the plugin folder for Claude Code and Codex, and the marketplace around it, from `agents/` and the sources. */
export async function buildAgents() {
  const folder = `${root}dist/agents`;
  cpSync(`${root}agents`, folder, { recursive: true });
  const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  for (const agent of [".claude-plugin", ".codex-plugin"]) {
    const file = `${folder}/carryover/${agent}/plugin.json`;
    const manifest = { ...JSON.parse(readFileSync(file, "utf8")), version };
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  const made = await rolldown({
    input: { hook: `${root}src/hook.ts`, mcp: `${root}src/mcp.ts`, report: `${root}src/report.ts` },
    platform: "node",
    resolve: { mainFields: ["module", "main"] },
    external: ["pg"],
    logLevel: "warn",
  });
  await made.write({
    dir: `${folder}/carryover`,
    format: "esm",
    minify: true,
    entryFileNames: "[name].js",
    chunkFileNames: "lib/[name]-[hash].js",
  });
  await made.close();
  // Where it is installed no package.json says so.
  writeFileSync(`${folder}/carryover/package.json`, `${JSON.stringify({ type: "module", private: true })}\n`);
}
