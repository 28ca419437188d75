import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";

/** Makes one plain JavaScript file of a small agent of this folder, with the version of the AI SDK that is being tested. */
export async function bundleAgent(file = "interrupted-agent.ts"): Promise<AgentProgram> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-agent-"));
  const build = await rolldown({
    input: join(import.meta.dirname, file),
    platform: "node",
    logLevel: "silent",
    plugins: [{ name: "alias", resolveId: (id) => ALIASES.find(({ find }) => find.test(id))?.entry ?? null }],
  });
  const path = join(folder, "agent.mjs");
  await build.write({ file: path, format: "esm", codeSplitting: false });
  await build.close();
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export interface AgentProgram {
  readonly path: string;
  readonly remove: () => void;
}

interface Alias {
  readonly find: string;
  readonly replacement: string;
}

/** Set by `scripts/test-ai7.mjs`. */
const ALIASES = (JSON.parse(process.env.CARRYOVER_AI_ALIAS ?? "[]") as readonly Alias[]).map(
  ({ find, replacement }) => ({ find: new RegExp(find), entry: entryOf(replacement) }),
);

/** A package's folder stands for its main file. */
function entryOf(path: string): string {
  if (path.endsWith(".js")) return path;
  return join(path, path.endsWith("zod") ? "index.js" : "dist/index.js");
}
