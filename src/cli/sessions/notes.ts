import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { dataHome } from "../../plugin/stores/folders.ts";
import { asNumber, asObject, asString, omitUndefined } from "../../text/unknown-value.ts";
import { writeFileAtomic } from "../files/write-file.ts";

/** What is known of a session that was handed over: its file, so that it can be removed again. */
interface HandoffNote {
  readonly id: string;
  readonly path: string;
  readonly sizeBytes: number;
  /** What OpenCode calls it when it has imported the file, and its messages: it keeps sessions in a database. */
  readonly sessionId?: string;
  readonly messages?: number;
}

/** Where notes lie, and what OpenCode imports. */
export function handoffFolder(env: NodeJS.ProcessEnv): string {
  return join(dataHome(env), "carryover", "handoff");
}

/** Notes that a session was written. */
export async function writeNote(folder: string, note: HandoffNote): Promise<void> {
  await writeFileAtomic(join(folder, `${note.id}${NOTE}`), `${JSON.stringify(note)}\n`, { mode: 0o600 });
}

/** Sessions that we wrote and nobody has gone on with: copies of others, for as long as they are as they were. */
export interface WrittenCopies {
  readonly paths: ReadonlySet<string>;
  /** How many messages those had that OpenCode was given, by the id of the session. */
  readonly messages: ReadonlyMap<string, number>;
}

export async function writtenCopies(env: NodeJS.ProcessEnv): Promise<WrittenCopies> {
  const notes = await Promise.all((await noteFiles(handoffFolder(env))).map(readNote));
  const paths = await Promise.all(notes.map(untouchedFile));
  const messages = notes.flatMap((note) =>
    note?.sessionId === undefined || note.messages === undefined
      ? []
      : [[note.sessionId, note.messages] as const],
  );
  return { paths: new Set(paths.filter((path) => path !== undefined)), messages: new Map(messages) };
}

/** A session that we wrote, and what can be removed of it. */
export interface HandedSession {
  /** As its agent calls it; that of the note where the note cannot be read. */
  readonly id: string;
  /** As `handoff` and `rescue` called it. */
  readonly writtenId: string;
  readonly path: string | undefined;
  /** `gone-on`: somebody has gone on with it. `missing`: its file is not there any more. */
  readonly state: "untouched" | "gone-on" | "missing";
  /** The note, and the file of one that is untouched: one that has grown since is the user's conversation. */
  readonly files: readonly string[];
}

/** The sessions that we wrote for agents, each with its note. */
export async function handedSessions(folder: string): Promise<readonly HandedSession[]> {
  const files = await noteFiles(folder);
  return Promise.all(
    files.map(async (file) => {
      const note = await readNote(file);
      const untouched = await untouchedFile(note);
      const writtenId = basename(file, NOTE);
      const id = note?.sessionId ?? writtenId;
      const path = note?.path;
      if (untouched !== undefined)
        return { id, writtenId, path, state: "untouched", files: [untouched, file] };
      const isThere = path !== undefined && (await lstat(path).catch(() => undefined)) !== undefined;
      return { id, writtenId, path, state: isThere ? "gone-on" : "missing", files: [file] };
    }),
  );
}

async function noteFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith(NOTE)).map((name) => join(folder, name));
}

async function readNote(file: string): Promise<HandoffNote | undefined> {
  try {
    const note = asObject(JSON.parse(await readFile(file, "utf8")));
    const path = asString(note.path) ?? "";
    const id = basename(file, NOTE);
    // The name says that it is ours: nobody else makes files with this id.
    if (!basename(path).includes(id)) return undefined;
    const sizeBytes = asNumber(note.sizeBytes) ?? -1;
    return omitUndefined({
      ...{ id, path, sizeBytes },
      sessionId: asString(note.sessionId),
      messages: asNumber(note.messages),
    });
  } catch {
    return undefined;
  }
}

async function untouchedFile(note: HandoffNote | undefined): Promise<string | undefined> {
  const found = note && (await lstat(note.path).catch(() => undefined));
  return found?.isFile() && found.size === note?.sizeBytes ? note.path : undefined;
}

const NOTE = ".note.json";
