import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { rolldown } from "rolldown";

/** Makes one plain JavaScript file of a TypeScript program, which Node 20 can then run as a child. */
export async function bundleChild(sourcePath: string): Promise<ChildProgram> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-child-"));
  const build = await rolldown({ input: sourcePath, platform: "node", logLevel: "silent" });
  try {
    await build.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" });
  } finally {
    await build.close();
  }
  return {
    path: join(folder, `${basename(sourcePath, ".ts")}.mjs`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface ChildProgram {
  readonly path: string;
  readonly remove: () => void;
}
