import { spawn } from "node:child_process";
import { mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";

/**
 * The newest session that OpenCode keeps, as its `export` writes it: asked of its database, or of version 2 itself.
 * Undefined where it keeps none but what it was given.
 */
export async function exportNewestSession(
  env: NodeJS.ProcessEnv,
  { forkSessions, copies }: NotTheUsers,
): Promise<Uint8Array | undefined> {
  const rows = await queryOpenCode(NEWEST_SESSIONS, env).catch((error: unknown) => {
    if (error instanceof FailedCommand) return undefined;
    throw error;
  });
  // Version 2 has no such command: it answers requests, by a server of its own that ends with the command.
  const newest = rows ?? (await newestOfVersion2(env, await forkSessions()));
  const alone = rows === undefined ? ["--standalone"] : [];
  for (const id of newest.flatMap((each) => asString(asObject(each).id) ?? [])) {
    const bytes = await runOpenCodeCommand(["export", ...alone, id], env);
    const given = copies.get(id);
    if (given === undefined || countMessages(bytes) !== given) return bytes;
  }
  return undefined;
}

/** What OpenCode keeps beside the user's own sessions. */
interface NotTheUsers {
  readonly forkSessions: () => Promise<ReadonlySet<string>>;
  /** Sessions that it was given, with the messages that they had then. */
  readonly copies: ReadonlyMap<string, number>;
}

function countMessages(bytes: Buffer): number {
  return asArray(asObject(JSON.parse(bytes.toString("utf8"))).messages).length;
}

/** One session of OpenCode, named by its id, as its `export` writes it. */
export async function exportSession(id: string, env: NodeJS.ProcessEnv): Promise<Uint8Array> {
  const { version } = await findOpenCode(env);
  const alone = isVersion1(version) ? [] : ["--standalone"];
  return runOpenCodeCommand(["export", ...alone, id], env);
}

/** True for what version 1 of OpenCode says of itself. */
export function isVersion1(version: string): boolean {
  return /(?:^|v)1\./.test(version);
}

/** Forks and sub-agents have a parent; the user's own conversation has none. */
const NEWEST_SESSIONS = "select id from session where parent_id is null order by time_updated desc limit 20";

/** Sessions of plugins have no parent there: which of them are forks is known from elsewhere. */
async function newestOfVersion2(
  env: NodeJS.ProcessEnv,
  forkSessions: ReadonlySet<string>,
): Promise<readonly unknown[]> {
  const path = "/api/session?parentID=null&limit=100&order=desc";
  const output = await runOpenCodeCommand(["api", "--standalone", "GET", path], env);
  const { data } = asObject(JSON.parse(output.toString("utf8")));
  return asArray(data).filter((session) => !forkSessions.has(asString(asObject(session).id) ?? ""));
}

/** The rows that a statement selects from OpenCode's database. */
export async function queryOpenCode(sql: string, env: NodeJS.ProcessEnv): Promise<readonly unknown[]> {
  const output = await runOpenCodeCommand(["db", sql, "--format", "json"], env);
  return JSON.parse(output.toString("utf8")) as readonly unknown[];
}

/** A session of an older OpenCode, put together from its files in the form of `opencode export`. */
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

/** The JSON files of a folder by name, which is by time. One that cannot be parsed is left out. */
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

/** What the user's OpenCode prints for these arguments; throws with a reason when it fails. */
export async function runOpenCodeCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Buffer> {
  return (await runInstalled(args, env)).output;
}

/** The user's OpenCode: its program, and what it says its version is. */
export async function findOpenCode(env: NodeJS.ProcessEnv): Promise<{ program: string; version: string }> {
  const { program, output } = await runInstalled(["--version"], env);
  return { program, version: output.toString("utf8").trim() };
}

async function runInstalled(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly program: string; readonly output: Buffer }> {
  const run = { env, stderr: "ignore", timeoutMs: TIMEOUT_MS } as const;
  for (const program of env.OPENCODE_BIN ? [env.OPENCODE_BIN] : OPENCODE_PROGRAMS) {
    try {
      const { code, output } = await runToFile(program, args, run);
      if (code !== 0) throw new FailedCommand(`\`${program} ${args[0]}\` ended with code ${code}`);
      return { program, output };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  if (env.OPENCODE_BIN) throw new Error(`there is no program ${env.OPENCODE_BIN}, which OPENCODE_BIN names`);
  throw new Error(
    "neither opencode nor opencode2, which read its database, is on the PATH; OPENCODE_BIN names one elsewhere",
  );
}

/** The names under which OpenCode is installed; one that is missing is passed over. */
export const OPENCODE_PROGRAMS: readonly string[] = ["opencode", "opencode2"];

/** The program ran, and did not do what it was asked. */
class FailedCommand extends Error {
  readonly code = "command-failed";
}

const TIMEOUT_MS = 60_000;

/** Runs a program with its output in a file, since OpenCode exits before a pipe is drained; throws if it cannot be started. */
export async function runToFile(program: string, args: readonly string[], run: Run): Promise<Finished> {
  const folder = await mkdtemp(join(tmpdir(), "carryover-"));
  const path = join(folder, "output");
  const file = await open(path, "w", 0o600);
  try {
    const child = spawn(program, args, {
      env: run.env,
      cwd: run.cwd,
      stdio: ["ignore", file.fd, run.stderr === "ignore" ? "ignore" : file.fd],
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), run.timeoutMs);
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("exit", resolve),
    ).finally(() => clearTimeout(timer));
    return { code, output: await readFile(path) };
  } finally {
    await file.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Run {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly stderr: "ignore" | "with-stdout";
  /** After this long the program is killed. */
  readonly timeoutMs: number;
}

interface Finished {
  /** Null if it was killed. */
  readonly code: number | null;
  readonly output: Buffer;
}
