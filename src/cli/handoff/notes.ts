import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { dataHome } from "../../plugin/stores/folders.ts";
import { asNumber, asObject, asString } from "../../text/json.ts";
import { writeFileAtomic } from "../files/write-file.ts";

/** What is known of a session that was handed over: its file, so that it can be removed again. */
export interface HandoffNote {
  readonly id: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** Where notes lie, and what OpenCode imports. */
export function handoffFolder(env: NodeJS.ProcessEnv): string {
  return join(dataHome(env), "carryover", "handoff");
}

/** Notes that a session was written. */
export async function writeNote(folder: string, note: HandoffNote): Promise<void> {
  await writeFileAtomic(join(folder, `${note.id}${NOTE}`), `${JSON.stringify(note)}\n`, { mode: 0o600 });
}

/**
 * The files of handed sessions that nobody has gone on with, and their notes. A file that has grown since is the user's
 * conversation: only its note is listed.
 */
export async function handedFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith(NOTE)).map((name) => join(folder, name));
  const handed = await Promise.all(files.map(untouchedFile));
  return [...handed.filter((path) => path !== undefined), ...files];
}

async function untouchedFile(file: string): Promise<string | undefined> {
  const id = basename(file, NOTE);
  try {
    const note = asObject(JSON.parse(await readFile(file, "utf8")));
    const path = asString(note.path) ?? "";
    // The name says that it is ours: nobody else makes files with this id.
    if (!basename(path).includes(id)) return undefined;
    const found = await lstat(path);
    return found.isFile() && found.size === asNumber(note.sizeBytes) ? path : undefined;
  } catch {
    return undefined;
  }
}

const NOTE = ".note.json";
