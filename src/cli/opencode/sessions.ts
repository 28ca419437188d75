import { spawn } from "node:child_process";
import { mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asObject, asString } from "../../text/json.ts";
import { type DatedFile, newestFile } from "../files/find-files.ts";

/** The newest session in OpenCode's database, as its own `export` writes it. */
export async function exportNewestSession(env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  const listed = await runOpenCodeCommand(["db", NEWEST_SESSION, "--format", "json"], env);
  const id = asString(asObject((JSON.parse(listed.toString("utf8")) as readonly unknown[])[0]).id);
  if (id === undefined) throw new Error("its database has no session");
  return runOpenCodeCommand(["export", id], env);
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
  const id = asString(asObject(info).id) ?? "";
  const infos = await readJsonFiles(join(storage, "message", id));
  const messages = infos.map(async (message) => ({
    info: message,
    parts: await readJsonFiles(join(storage, "part", asString(asObject(message).id) ?? "")),
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

/** What the person's own OpenCode prints for these arguments; throws with a reason when it does not. */
export async function runOpenCodeCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Buffer> {
  // Into a file: OpenCode ends before a pipe is drained, and what is long arrives cut in the middle.
  const folder = await mkdtemp(join(tmpdir(), "carryover-"));
  const path = join(folder, "stdout");
  const output = await open(path, "w", 0o600);
  try {
    const child = spawn(env.OPENCODE_BIN || "opencode", args, {
      env,
      stdio: ["ignore", output.fd, "ignore"],
    });
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS);
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("exit", resolve),
    ).finally(() => clearTimeout(timer));
    if (code !== 0) throw new Error(`\`opencode ${args[0]}\` ended with code ${code}`);
    return await readFile(path);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "ENOENT"
      ? new Error("the program opencode, which reads its database, is not on the PATH")
      : error;
  } finally {
    await output.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const TIMEOUT_MS = 60_000;
