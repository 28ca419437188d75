import { lstat, mkdtemp, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import type { Environment } from "../../plugin/context/context.ts";
import { databaseControlStore, PLUGIN_SCOPE, runningPlugins } from "../../plugin/stores/control-store.ts";
import { configHome, LOG_FILE, type PluginFolders, pluginFolders } from "../../plugin/stores/folders.ts";
import { listPluginJournals, readPluginJournal } from "../../plugin/stores/journal.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { readForks } from "../../plugin/stores/recorded-forks.ts";
import { createLoadPg } from "../../stores/postgres/pool.ts";
import { openPostgresStores, type PostgresStores } from "../../stores/postgres/stores.ts";
import { formatBytes } from "../../text/format-number.ts";
import { DATABASE_LABEL, packageFolders } from "../opencode/with-stores.ts";
import { formatCount, terminalText } from "../terminal/output.ts";
import { as, note, ok, problem, type Verdict } from "./check.ts";

/** Whether the plugin's folder, or its database, can be used, and whether the records in it are intact. */
export function checkStore(store: string | undefined, env: Environment): Promise<readonly Verdict[]> {
  return store !== undefined && isDatabase(store)
    ? checkDatabase(store)
    : checkFolders(pluginFolders({ store, env }));
}

/** The folder can be written, only this user can read it, and its records are intact. */
async function checkFolders(folders: PluginFolders): Promise<readonly Verdict[]> {
  const { root } = folders;
  const stat = await lstat(root).catch(() => undefined);
  if (stat === undefined) {
    const parent = await nearestParent(root);
    const reason = await writeProblem(parent);
    return [
      reason === undefined ? ok(`${root} does not exist yet and can be made`) : unwritable(parent, reason),
    ];
  }
  if (!stat.isDirectory())
    return [
      problem(
        `${root} is not a folder of its own (a link, perhaps)`,
        "Remove it, or name another folder with the option `store`.",
      ),
    ];
  const reason = await writeProblem(root);
  if (reason !== undefined) return [unwritable(root, reason)];
  const isOpen = process.getuid !== undefined && (stat.mode & 0o077) !== 0;
  return [
    isOpen
      ? note(`${root} can be read by other users; what is kept in it cannot`, `chmod 700 ${root}`)
      : ok(`${root} can be written, and only by this user`),
    ...(await checkRecords(folders)),
  ];
}

async function checkRecords(folders: PluginFolders): Promise<readonly Verdict[]> {
  const { records, problems } = await readForks(folders);
  const [newest] = await listPluginJournals(folders.journal);
  const journal =
    newest === undefined
      ? undefined
      : await readPluginJournal({ folder: folders.journal, rootSessionId: newest.rootSessionId });
  const damaged = [
    ...problems,
    ...(journal?.problems ?? [])
      // A killed program may leave half a line at the end, which is harmless.
      .filter(({ type }) => type !== "torn-tail")
      .map(({ place, reason }) => `${place}: ${reason}`),
  ];
  const whole = records.length === 1 ? "whole" : "all of them whole";
  return recordVerdicts(damaged, {
    allWell: `${formatCount(records.length, "record")} of forks, ${whole}`,
    advice:
      "It was set aside and is not used; remove the folder's *.corrupt-* files when you no longer need them.",
  });
}

function recordVerdicts(damaged: readonly string[], { allWell, advice }: RecordTexts): readonly Verdict[] {
  if (damaged.length === 0) return [as("records", ok(allWell))];
  return damaged.map((what) => as("records", problem(`a record is damaged: ${what}`, advice)));
}

interface RecordTexts {
  readonly allWell: string;
  readonly advice: string;
}

function unwritable(folder: string, reason: string): Verdict {
  return problem(
    `${folder} cannot be written: ${reason}`,
    reason.includes("disk")
      ? "Make room: `carryover purge` shows what of it is ours. Or name a folder on another disk with the option `store`."
      : "Give this user the right to write there, or name another folder with the option `store`.",
  );
}

async function nearestParent(path: string): Promise<string> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const isThere = await lstat(folder).then(
      () => true,
      () => false,
    );
    if (isThere || folder === dirname(folder)) return folder;
  }
}

/** Tries what the plugin does: makes a folder, writes a file into it, waits until it is on the disk. */
async function writeProblem(folder: string): Promise<string | undefined> {
  let made: string | undefined;
  try {
    made = await mkdtemp(join(folder, ".carryover-doctor-"));
    await writeFile(join(made, "probe"), Buffer.alloc(PROBE_BYTES, 1), { flush: true });
    const { bavail, bsize } = await statfs(folder);
    const freeBytes = bavail * bsize;
    return freeBytes < MIN_FREE_BYTES ? `only ${formatBytes(freeBytes)} of the disk are free` : undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return code === "ENOSPC" ? "the disk is full (ENOSPC)" : code;
  } finally {
    if (made !== undefined) await rm(made, { recursive: true, force: true });
  }
}

const PROBE_BYTES = 256 * 1024;
/** Less than a few long outputs need. */
const MIN_FREE_BYTES = 32 * 1024 * 1024;

/** The database can be reached and has its tables; its address is never shown. */
async function checkDatabase(connectionString: string): Promise<readonly Verdict[]> {
  const stores = openPostgresStores({
    connectionString,
    retryMs: 0,
    cleaning: "never",
    load: createLoadPg(packageFolders()),
  });
  try {
    const opened = await stores.open();
    if (opened.status === "open")
      return [
        ok(`${DATABASE_LABEL} answers, and its tables are up to date`),
        ...(await checkDatabaseRecords(stores)),
      ];
    return [
      problem(
        `${DATABASE_LABEL} cannot be used: ${opened.reason} (${opened.code})`,
        opened.code === "PG_NOT_INSTALLED"
          ? `Run npm install pg in the project or in ${join(configHome(process.env), "opencode")}.`
          : "Correct the address, start the server, or leave the option out to keep files.",
      ),
    ];
  } finally {
    await stores.close();
  }
}

/** The records of all machines can be read; the running plugins are counted. */
async function checkDatabaseRecords(stores: PostgresStores): Promise<readonly Verdict[]> {
  const records = await stores.recordsBelow(PLUGIN_SCOPE);
  if ("status" in records)
    return [as("records", problem(`records cannot be read: ${records.reason}`, "Try again."))];
  const damaged = records.filter(({ value }) => value === undefined);
  const forks = records.filter(({ value }) => readForkRecord(value) !== undefined);
  const running = (await runningPlugins(databaseControlStore(stores))) ?? [];
  return recordVerdicts(
    damaged.map(({ scope, id }) => terminalText(`${scope}/${id}`, MAX_NAME_CHARS)),
    {
      allWell: `${formatCount(running.length, "plugin")} at work, ${formatCount(forks.length, "fork")} recorded, and all records are whole`,
      advice: "It is not used; `carryover purge --all` removes it with everything else, or delete its row.",
    },
  );
}

const MAX_NAME_CHARS = 160;

/** What went wrong last, if it was lately. */
export async function checkLog(env: Environment): Promise<Verdict | undefined> {
  const file = join(pluginFolders({ store: undefined, env }).root, LOG_FILE);
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n");
  const last = lines.findLast((line) => / (?:error|warn) /.test(line));
  const atMs = Date.parse(last?.slice(0, 24) ?? "");
  if (last === undefined || !(Date.now() - atMs < LATELY_MS)) return undefined;
  return note(`the log says: ${terminalText(last, 240)}`, `More of it stands in ${file}.`);
}

const LATELY_MS = 7 * 86_400_000;
