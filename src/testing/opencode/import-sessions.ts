import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionExport } from "../../formats/opencode/session-message.ts";
import { runOpenCode } from "./run-opencode.ts";
import type { Sandbox } from "./sandbox.ts";

/**
 * Imports whole sessions and gives their ids: the first with `opencode import`, which takes seconds, and the others as
 * the rows that it would write, all in one process. OpenCode may be running or not.
 */
export async function importSessions({ binary, sandbox, sessions }: Import): Promise<readonly string[]> {
  const folder = mkdtempSync(join(sandbox.root, "sessions-"));
  const files = sessions.map((session, index) => {
    const file = join(folder, `${index}.json`);
    writeFileSync(file, JSON.stringify(session));
    return file;
  });
  const [first, ...others] = files;
  if (first === undefined) return [];
  await succeed({ binary, sandbox, args: ["import", first] });
  if (others.length > 0) {
    const database = join(sandbox.home, ".local", "share", "opencode", "opencode.db");
    const script = join(import.meta.dirname, "insert-sessions.mjs");
    // The binary carries Bun, and Bun carries SQLite: nothing more is needed.
    await succeed({
      binary,
      sandbox,
      args: ["run", script, database, ...files],
      env: { ...sandbox.env, BUN_BE_BUN: "1" },
    });
  }
  return sessions.map(({ info }) => info.id ?? "");
}

export interface Import {
  readonly binary: string;
  readonly sandbox: Sandbox;
  readonly sessions: readonly SessionExport[];
}

async function succeed(command: Parameters<typeof runOpenCode>[0]): Promise<void> {
  const { code, stdout, stderr } = await runOpenCode(command);
  if (code !== 0) throw new Error(`The import ended with code ${code}: ${(stdout + stderr).slice(-1_000)}`);
}
