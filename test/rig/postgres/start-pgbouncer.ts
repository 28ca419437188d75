import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installPackage } from "../install-package.ts";
import { removeFolder } from "../remove-folder.ts";
import { freePort, type PostgresServer, serverUser } from "./start-postgres.ts";

/** Starts PgBouncer in transaction mode before a server, with fewer connections than programs; undefined where it is not installed. */
export async function startPgBouncer(
  server: PostgresServer,
  options: PgBouncerOptions = {},
): Promise<PgBouncer | undefined> {
  const program = await installedProgram();
  if (program === undefined) return undefined;
  const user = serverUser();
  const folder = mkdtempSync(join(tmpdir(), "carryover-pgbouncer-"));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(file, settings(server, { folder, port, ...options }));
  if (user.uid !== undefined)
    for (const path of [folder, file]) chownSync(path, user.uid, user.gid ?? user.uid);
  const bouncer = spawn(program, [file], { ...user, cwd: folder, stdio: "ignore" });
  const stop = async (): Promise<void> => {
    await ended(bouncer);
    removeFolder(folder);
  };
  try {
    await waitForPort(port, bouncer);
  } catch (cause) {
    await stop();
    throw cause;
  }
  return { connectionString: `postgres://agent@127.0.0.1:${port}/postgres`, stop };
}

export interface PgBouncer {
  readonly connectionString: string;
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  /** Parameters of a new connection that it passes over instead of refusing the connection. */
  readonly ignoredParameters?: readonly string[];
}

async function installedProgram(): Promise<string | undefined> {
  const found = PROGRAMS.find(existsSync);
  if (found !== undefined) return found;
  const problem = await installPackage("pgbouncer");
  const installed = PROGRAMS.find(existsSync);
  if (installed === undefined)
    console.log(
      `skipped: the tests through PgBouncer, which cannot be installed (${problem ?? "its program was not found"}); on Debian: apt-get install pgbouncer`,
    );
  return installed;
}

const PROGRAMS: readonly string[] = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];
const START_MS = 30_000;

interface Settings extends PgBouncerOptions {
  readonly folder: string;
  readonly port: number;
}

/** Whoever comes is the server's agent: it is the pooling that is looked at. */
function settings(
  { tcpConnectionString, password }: PostgresServer,
  { folder, port, ignoredParameters = [] }: Settings,
): string {
  const { hostname, port: serverPort } = new URL(tcpConnectionString);
  return `
[databases]
postgres = host=${hostname} port=${serverPort} dbname=postgres user=agent password='${password}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 200
logfile = ${join(folder, "pgbouncer.log")}
ignore_startup_parameters = ${ignoredParameters.join(",")}
`;
}

async function waitForPort(port: number, { exitCode }: ChildProcess): Promise<void> {
  for (const startedMs = Date.now(); Date.now() - startedMs < START_MS; await sleep(50)) {
    if (exitCode !== null) break;
    if (await answers(port)) return;
  }
  throw new Error("PgBouncer did not answer within 30 s");
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
