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
  const own = `${folder}/carryover`;
  const files = new Map();
  for (const source of MOMENTS)
    files.set(`${root}${source}`, await bundleMoment({ source, folder: own, files }));
  const made = await rolldown({
    ...SETTINGS,
    input: { mcp: `${root}src/mcp.ts`, report: `${root}src/report.ts` },
  });
  await made.write({
    ...OUTPUT,
    dir: own,
    entryFileNames: "[name].js",
    chunkFileNames: "lib/[name]-[hash].js",
  });
  await made.close();
  // Where it is installed a package.json further up may say otherwise.
  writeFileSync(
    `${folder}/carryover/package.json`,
    `${JSON.stringify({ type: "commonjs", private: true })}\n`,
  );
}

const SETTINGS = {
  platform: "node",
  resolve: { mainFields: ["module", "main"] },
  external: ["pg"],
  logLevel: "warn",
};

// An agent waits for the start of each: one that is imported starts a fifth later.
const OUTPUT = { format: "cjs", minify: true, comments: false, dynamicImportInCjs: false };

/**
 * What a hook loads one after the other, as far as its moment needs it; each before those that load it. Each is a file of its
 * own that shares none with another: what two would share would be loaded whole for either, and an agent waits for it.
 */
const MOMENTS = [
  "src/hosts/claude-code/claude-code.ts",
  "src/hosts/codex/codex.ts",
  "src/agents/hooks/deliver-results.ts",
  "src/agents/hooks/whole-session.ts",
  "src/agents/files/report.ts",
  "src/agents/hooks/answer-hook.ts",
  "src/hook.ts",
];

/** Writes one of them, and returns the name of its file. */
async function bundleMoment({ source, folder, files }) {
  const isEntry = source === MOMENTS.at(-1);
  const made = await rolldown({
    ...SETTINGS,
    input: `${root}${source}`,
    plugins: [
      {
        name: "moments",
        async resolveId(id, importer, { kind }) {
          if (kind !== "dynamic-import") return null;
          const file = files.get((await this.resolve(id, importer))?.id);
          return file === undefined ? null : { id: `./${isEntry ? "lib/" : ""}${file}`, external: true };
        },
      },
    ],
  });
  const names = "[name]-[hash].js";
  const { output } = await made.write({
    ...OUTPUT,
    dir: isEntry ? folder : `${folder}/lib`,
    entryFileNames: isEntry ? "[name].js" : names,
    chunkFileNames: isEntry ? `lib/${names}` : names,
  });
  await made.close();
  return output[0].fileName;
}
