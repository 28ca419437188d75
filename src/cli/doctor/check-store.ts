import { lstat, mkdtemp, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { databaseControlStore, PLUGIN_SCOPE, runningPlugins } from "../../plugin/stores/control-store.ts";
import { configHome, LOG_FILE, type PluginFolders, pluginFolders } from "../../plugin/stores/folders.ts";
import { listPluginJournals, readPluginJournal } from "../../plugin/stores/journal.ts";
import { readForks } from "../../plugin/stores/plugin-stores.ts";
import { createLoadPg } from "../../stores/postgres/pool.ts";
import { openPostgresStores, type PostgresStores } from "../../stores/postgres/stores.ts";
import { formatBytes } from "../../text/format-number.ts";
import { DATABASE_LABEL, packageFolders } from "../opencode/with-stores.ts";
import { formatCount, terminalText } from "../terminal/output.ts";
import type { Finding } from "./finding.ts";

/** Checks that the plugin's folder can be written, that only this user can read it, and that its records are intact. */
export async function checkStore(folders: PluginFolders): Promise<Finding[]> {
  const { root } = folders;
  const check = "store";
  const stat = await lstat(root).catch(() => undefined);
  if (stat === undefined) {
    const parent = await nearestParent(root);
    const reason = await writeProblem(parent);
    return reason === undefined
      ? [{ check, level: "ok", what: `${root} does not exist yet and can be made` }]
      : [unwritable(parent, reason)];
  }
  if (!stat.isDirectory())
    return [
      {
        check,
        level: "problem",
        what: `${root} is not a folder of its own (a link, perhaps)`,
        advice: "Remove it, or name another folder with the option `store`.",
      },
    ];
  const reason = await writeProblem(root);
  if (reason !== undefined) return [unwritable(root, reason)];
  const isOpen = process.getuid !== undefined && (stat.mode & 0o077) !== 0;
  return [
    isOpen
      ? {
          check,
          level: "note",
          what: `${root} can be read by other users; what is kept in it cannot`,
          advice: `chmod 700 ${root}`,
        }
      : { check, level: "ok", what: `${root} can be written, and only by this user` },
    ...(await checkRecords(folders)),
  ];
}

async function checkRecords(folders: PluginFolders): Promise<Finding[]> {
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
  const check = "records";
  if (damaged.length === 0)
    return [
      {
        check,
        level: "ok",
        what: `${formatCount(records.length, "record")} of forks, ${records.length === 1 ? "whole" : "all of them whole"}`,
      },
    ];
  return damaged.map((what) => ({
    check,
    level: "problem",
    what: `a record is damaged: ${what}`,
    advice:
      "It was set aside and is not used; remove the folder's *.corrupt-* files when you no longer need them.",
  }));
}

function unwritable(folder: string, reason: string): Finding {
  return {
    check: "store",
    level: "problem",
    what: `${folder} cannot be written: ${reason}`,
    advice: reason.includes("disk")
      ? "Make room: `carryover purge` shows what of it is ours. Or name a folder on another disk with the option `store`."
      : "Give this user the right to write there, or name another folder with the option `store`.",
  };
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

/** Checks that the plugin's database can be reached and has its tables; never shows its address. */
export async function checkDatabase(connectionString: string): Promise<Finding[]> {
  const check = "store";
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
        { check, level: "ok", what: `${DATABASE_LABEL} answers, and its tables are up to date` },
        ...(await checkDatabaseRecords(stores)),
      ];
    return [
      {
        check,
        level: "problem",
        what: `${DATABASE_LABEL} cannot be used: ${opened.reason} (${opened.code})`,
        advice:
          opened.code === "PG_NOT_INSTALLED"
            ? `Run npm install pg in the project or in ${join(configHome(process.env), "opencode")}.`
            : "Correct the address, start the server, or leave the option out to keep files.",
      },
    ];
  } finally {
    await stores.close();
  }
}

/** Checks that the records of all machines can be read, and counts the running plugins. */
async function checkDatabaseRecords(stores: PostgresStores): Promise<Finding[]> {
  const check = "records";
  const records = await stores.recordsBelow(PLUGIN_SCOPE);
  if ("status" in records)
    return [
      { check, level: "problem", what: `records cannot be read: ${records.reason}`, advice: "Try again." },
    ];
  const damaged = records.filter(({ value }) => value === undefined);
  const forks = records.filter(({ value }) => readForkRecord(value) !== undefined);
  const running = (await runningPlugins(databaseControlStore(stores))) ?? [];
  if (damaged.length === 0)
    return [
      {
        check,
        level: "ok",
        what: `${formatCount(running.length, "plugin")} at work, ${formatCount(forks.length, "fork")} recorded, and all records are whole`,
      },
    ];
  return damaged.map(({ scope, id }) => ({
    check,
    level: "problem",
    what: `a record is damaged: ${terminalText(`${scope}/${id}`, MAX_NAME_CHARS)}`,
    advice: "It is not used; `carryover purge --all` removes it with everything else, or delete its row.",
  }));
}

const MAX_NAME_CHARS = 160;

/** What went wrong last, if it was lately. */
export async function checkLog(env: NodeJS.ProcessEnv): Promise<readonly Finding[]> {
  const file = join(pluginFolders({ store: undefined, env }).root, LOG_FILE);
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n");
  const last = lines.findLast((line) => / (?:error|warn) /.test(line));
  const atMs = Date.parse(last?.slice(0, 24) ?? "");
  if (last === undefined || !(Date.now() - atMs < LATELY_MS)) return [];
  return [
    {
      check: "log",
      level: "note",
      what: `the log says: ${terminalText(last, 240)}`,
      advice: `More of it stands in ${file}.`,
    },
  ];
}

const LATELY_MS = 7 * 86_400_000;
