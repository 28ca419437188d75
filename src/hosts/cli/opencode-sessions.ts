import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fields, stringField } from "../../formats/fields.ts";
import { askOpenCode } from "./ask-opencode.ts";
import { type DatedFile, newestFile } from "./newest-file.ts";

/** The newest session in OpenCode's database, as its own `export` writes it. */
export async function openDatabase(env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  const listed = await askOpenCode(["db", NEWEST_SESSION, "--format", "json"], env);
  const id = stringField(fields((JSON.parse(listed.toString("utf8")) as readonly unknown[])[0]).id);
  if (id === undefined) throw new Error("its database has no session");
  return askOpenCode(["export", id], env);
}

/** Forks and sub-agents have a parent; the conversation that a person has does not. */
const NEWEST_SESSION = "select id from session where parent_id is null order by time_updated desc limit 1";

/** The session file that older versions of OpenCode wrote last below their storage folder. */
export function findStoredSession(storage: string): Promise<DatedFile | undefined> {
  return newestFile(join(storage, "session"), (name) => name.endsWith(".json"));
}

/** A session of an older OpenCode, put together from its files into what `export` would write. */
export async function readStoredSession(storage: string, path: string): Promise<Uint8Array> {
  const info = JSON.parse(await readFile(path, "utf8")) as unknown;
  const id = stringField(fields(info).id) ?? "";
  const infos = await readJsonFiles(join(storage, "message", id));
  const messages = infos.map(async (message) => ({
    info: message,
    parts: await readJsonFiles(join(storage, "part", stringField(fields(message).id) ?? "")),
  }));
  return Buffer.from(JSON.stringify({ info, messages: await Promise.all(messages) }));
}

/** Ids grow with time, and so do the names of the files. One that cannot be read is left out. */
async function readJsonFiles(folder: string): Promise<readonly unknown[]> {
  const names = await readdir(folder).catch(() => []);
  const values: unknown[] = [];
  for (const name of names.filter((each) => each.endsWith(".json")).sort()) {
    try {
      values.push(JSON.parse(await readFile(join(folder, name), "utf8")));
    } catch {
      // Half a file of a session that is being written.
    }
  }
  return values;
}
