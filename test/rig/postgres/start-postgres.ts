import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { endProcessTree } from "../opencode/process-tree.ts";
import { removeFolder } from "../remove-folder.ts";
import { installPostgres } from "./install-postgres.ts";

/** Starts a real PostgreSQL server of its own on a temporary folder; undefined where none can be had. */
export async function startPostgres(medium: Medium = "memory"): Promise<PostgresServer | undefined> {
  const programs = await installPostgres();
  return programs === undefined ? undefined : startFrom(programs, medium);
}

/** Where its data lie. A killed process leaves the same behind in memory as on a disk, and sooner. */
export type Medium = "memory" | "disk";

/** A server that a test may kill. */
export interface PostgresServer {
  /** Through the socket in the server's folder, with a password that must never be seen anywhere. */
  readonly connectionString: string;
  /** The same server through the loopback, as another machine would reach it. */
  readonly tcpConnectionString: string;
  readonly password: string;
  /** Ends every process of the server at once, as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again on the same data, and returns when it answers. */
  restart(): Promise<void>;
  /** Runs statements as the owner of the server. */
  run(sql: string): Promise<string>;
  stop(): Promise<void>;
}

const PASSWORD = "s3cret/of:the@tests";
const MEMORY = "/dev/shm";
const START_MS = 60_000;

async function startFrom(programs: string, medium: Medium): Promise<PostgresServer> {
  const user = serverUser();
  const parent = medium === "memory" && existsSync(MEMORY) ? MEMORY : tmpdir();
  const folder = realpathSync(mkdtempSync(join(parent, "carryover-postgres-")));
  const data = join(folder, "data");
  chmodSync(folder, 0o755);
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? user.uid);
  await promisify(execFile)(
    join(programs, "initdb"),
    ["-D", data, "-U", "owner", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
    { ...user, cwd: folder },
  );
  const port = await freePort();
  appendFileSync(join(data, "postgresql.conf"), settings(folder, port));
  writeFileSync(join(data, "pg_hba.conf"), WHO_MAY);
  let server: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    for (const startedMs = Date.now(); Date.now() - startedMs < START_MS; await sleep(100)) {
      server = spawn(join(programs, "postgres"), ["-D", data], { ...user, cwd: folder, stdio: "ignore" });
      // It refuses to start while a process of the one before it, forked as that was killed, has not noticed yet.
      if ((await waitFor({ programs, folder, port, server })) === "answers") return;
    }
    throw new Error("The server did not start within a minute");
  };
  const end = async (): Promise<void> => {
    const running = server;
    server = undefined;
    if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const gone = new Promise((resolve) => running.once("exit", resolve));
    endProcessTree(running.pid);
    await gone;
  };
  const letGo = watchOver(folder);
  const run = async (sql: string): Promise<string> => {
    const flags = [
      "-h",
      folder,
      "-p",
      String(port),
      "-U",
      "owner",
      "-d",
      "postgres",
      "-X",
      "-A",
      "-t",
      "-v",
      "ON_ERROR_STOP=1",
    ];
    const { stdout } = await promisify(execFile)(join(programs, "psql"), [...flags, "-c", sql], {
      env: { ...process.env, LC_ALL: "C" },
    });
    return stdout.trim();
  };
  await start();
  await run(`create role agent login password '${PASSWORD}'`);
  await run("grant create on database postgres to agent");
  const credentials = `agent:${encodeURIComponent(PASSWORD)}`;
  return {
    connectionString: `postgres://${credentials}@/postgres?host=${encodeURIComponent(folder)}&port=${port}`,
    tcpConnectionString: `postgres://${credentials}@127.0.0.1:${port}/postgres`,
    password: PASSWORD,
    kill: end,
    restart: start,
    run,
    async stop() {
      await end();
      removeFolder(folder);
      letGo();
    },
  };
}

/** Ends the server and removes its data when this program is gone, however it went; test runners are killed. */
function watchOver(folder: string): () => void {
  const script =
    'cat > /dev/null; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")" 2> /dev/null; sleep 1; rm -rf "$0"';
  const watcher = spawn("sh", ["-c", script, folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  watcher.unref();
  (watcher.stdin as Socket | null)?.unref();
  return () => watcher.stdin?.end();
}

export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** The server refuses to run as root. */
export function serverUser(): User {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = ["-u", "-g"].map((flag) =>
        Number(execFileSync("id", [flag, name], { encoding: "utf8" })),
      );
      if (uid !== undefined && gid !== undefined) return { uid, gid };
    } catch {
      // The next one, then.
    }
  }
  return { uid: 65_534, gid: 65_534 };
}

/** The owner from here without a password, agents only with theirs. */
const WHO_MAY = `
local all owner trust
local all all scram-sha-256
host all all 127.0.0.1/32 scram-sha-256
`;

/** Everything that makes a commit safe stays on. */
function settings(folder: string, port: number): string {
  return `
listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = '${folder}'
max_connections = 200
shared_buffers = 64MB
dynamic_shared_memory_type = mmap
min_wal_size = 32MB
max_wal_size = 128MB
fsync = on
synchronous_commit = on
full_page_writes = on
`;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 5_432;
}

interface Started {
  readonly programs: string;
  readonly folder: string;
  readonly port: number;
  readonly server: ChildProcess;
}

async function waitFor({ programs, folder, port, server }: Started): Promise<"answers" | "ended"> {
  const isReady = promisify(execFile);
  for (const startedMs = Date.now(); Date.now() - startedMs < START_MS; await sleep(50)) {
    if (server.exitCode !== null) return "ended";
    const ready = await isReady(join(programs, "pg_isready"), ["-q", "-h", folder, "-p", String(port)]).then(
      () => true,
      () => false,
    );
    if (ready) return "answers";
  }
  throw new Error("The server did not answer within a minute");
}
