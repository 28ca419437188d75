import { existsSync } from "node:fs";
import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { NOTICES_FILE } from "../../hosts/opencode2/notices.ts";
import { LOADED_FILE } from "../../plugin/control.ts";
import {
  CHILD_SESSIONS,
  CLEANED_FILE,
  LOG_FILE,
  type PluginFolders,
  PUT_BACK_FILE,
  pluginFolders,
  WAITING_FOLDER,
} from "../../plugin/stores/folders.ts";
import { cleanSpills, isSha256 } from "../../stores/files/clean-spills.ts";
import {
  defaultStateFolder,
  type FileStat,
  nodeFileSystem,
  readWholeFile,
  removeQuietly,
  TEMPORARY_MAX_AGE_MS,
} from "../../stores/files/file-system.ts";
import { createFileRecordStore, GIVEN_VERSION_FILE, recordNameOf } from "../../stores/files/record-store.ts";
import { codeOf } from "../../text/failure.ts";
import { groupBy } from "../../text/group-by.ts";
import { suiteFolder } from "../eval/fetch-suite.ts";
import { defaultEvalCacheFolder } from "../eval/run-eval.ts";
import { sessionFolders } from "../sessions/find-newest-session.ts";
import { type HandedSession, handedSessions, handoffFolder } from "../sessions/notes.ts";
import {
  addRecords,
  createInventoryDraft,
  filesOfPlan,
  finishInventory,
  HANDLE_PATTERN,
  type Inventory,
  type InventoryContent,
  type InventoryDraft,
  type InventoryFile,
  type InventoryFork,
  type Purged,
  type PurgePlan,
  type RecordPlace,
  runningInstances,
  sessionById,
  sessionByName,
} from "./plan.ts";

/**
 * Lists everything in the plugin's folders, and, if those are the usual ones, in the state and the cache folder. Takes
 * only files whose names are ours and follows no links.
 */
export async function readFolderInventory(request: InventoryRequest): Promise<Inventory> {
  const { folders, places, nowMs } = request;
  if (existsSync(folders.root) && !isRealFolder(folders.root)) {
    const problem = `${folders.root} is a link, which is not followed; name the folder itself with --store`;
    return { sessions: [], contents: [], leftovers: [], running: 0, problems: [problem] };
  }
  const draft = createInventoryDraft(nowMs);
  const recordFolders = [
    ...(await foldersIn(folders.forks)),
    join(folders.control, "instances"),
    join(folders.control, "requests"),
  ];
  addRecords(draft, await Promise.all(recordFolders.map((folder) => readRecords(folder, draft))));
  const long = join(folders.journal, "long");
  const stores = [...recordFolders, folders.journal, long, folders.spill, folders.views];
  if (places === "usual") stores.push(join(defaultStateFolder(), "spill"));
  for (const folder of stores) draft.leftovers.push(...(await temporariesIn(folder, draft)));
  await addChildSessions(draft, join(folders.root, CHILD_SESSIONS));
  await addLogs(draft, folders.journal);
  draft.leftovers.push(...(await readHomeFiles(folders)));
  // What a running agent waits for is not left over.
  if (runningInstances(draft).length === 0)
    for (const folder of await foldersIn(join(folders.root, WAITING_FOLDER)))
      draft.leftovers.push(...(await filesIn(folder)));
  const contents = [
    ...(await contentsIn(folders.spill, "spill")),
    ...(await contentsIn(folders.views, "view")),
    ...(await contentsIn(long, "long")),
  ];
  if (places === "usual") {
    contents.push(...(await contentsIn(join(defaultStateFolder(), "spill"), "spill")));
    const measures = await filesIn(defaultEvalCacheFolder(process.env));
    draft.leftovers.push(...measures.filter(({ path }) => /^[0-9a-f]{64}\.json$/.test(basename(path))));
    const suite = await filesIn(suiteFolder(defaultEvalCacheFolder(process.env)));
    draft.leftovers.push(...suite.filter(({ path }) => /^[0-9a-f]{64}\.session$/.test(basename(path))));
    await addHandedSessions(draft);
  }
  return finishInventory(draft, contents);
}

/** The sessions that were written for agents, each under the id by which its agent knows it. */
export async function addHandedSessions(draft: InventoryDraft): Promise<void> {
  for (const handed of await handedSessions(handoffFolder(process.env))) {
    const session = sessionById(draft, handed.id);
    session.logs.push(...(await inventoryOf(handed.files)));
    session.handed = handedAs(handed);
    session.writtenId = handed.writtenId;
  }
}

function handedAs({ path, state }: HandedSession): string {
  const { agent = "OpenCode" } =
    sessionFolders(process.env).find(({ folder }) => path?.startsWith(folder) === true) ?? {};
  return `written for ${agent}${HANDED_STATES[state]}`;
}

const HANDED_STATES: Readonly<Record<HandedSession["state"], string>> = {
  untouched: "",
  "gone-on": ", gone on with: only its note goes",
  missing: ", and gone: its note is left",
};

/** What the plugin writes to its folder wherever else it keeps the rest: its log, its notices, what it put back last, when it cleaned, and that it was loaded. */
export async function readHomeFiles({ root }: PluginFolders): Promise<readonly InventoryFile[]> {
  const single = [LOADED_FILE, LOG_FILE, `${LOG_FILE}.old`, PUT_BACK_FILE, CLEANED_FILE];
  if (existsSync(root) && !isRealFolder(root)) return [];
  return (await filesIn(root)).filter(
    ({ path }) => single.includes(basename(path)) || NOTICES_FILE.test(basename(path)),
  );
}

/** Deletes them, and the folder where nothing else is in it. */
export async function purgeHomeFiles(
  files: readonly InventoryFile[],
): Promise<Pick<Purged, "files" | "bytes" | "problems">> {
  const done: Tally = { files: 0, bytes: 0, problems: [] };
  for (const file of files) removeFile(file, done);
  for (const folder of new Set(files.map(({ path }) => dirname(path))))
    await rmdir(folder).catch(() => undefined);
  return done;
}

interface InventoryRequest {
  readonly folders: PluginFolders;
  /** `named`: only the store that `--store` names, without folders of other uses. */
  readonly places: "usual" | "named";
  readonly nowMs: number;
}

/** Opens a folder as a store only if it holds records, since opening changes its permissions. */
async function readRecords(folder: string, draft: InventoryDraft): Promise<RecordPlace> {
  const files = (await filesIn(folder)).flatMap((file) => {
    const name = recordNameOf(basename(file.path));
    return name === undefined ? [] : [{ ...file, name }];
  });
  if (files.length === 0) return { folder, files, records: [] };
  const listed = await createFileRecordStore({ root: folder, durable: false }).list();
  if (listed.status === "failed") draft.problems.push(`${folder}: ${listed.reason}`);
  return { folder, files, records: listed.status === "listed" ? listed.records : [] };
}

/** They go with the session that forked; where no record of the fork is left, with everything else. */
async function addChildSessions(draft: InventoryDraft, folder: string): Promise<void> {
  for (const file of await filesIn(folder)) {
    const [, id] = CHILD_SESSION_NAME.exec(basename(file.path)) ?? [];
    if (id !== undefined) (draft.parents.get(id)?.logs ?? draft.leftovers).push(file);
  }
}

const CHILD_SESSION_NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

async function addLogs(draft: InventoryDraft, folder: string): Promise<void> {
  const writers = new Set(runningInstances(draft).map(({ process }) => `${process.pid}`));
  for (const file of await filesIn(folder)) {
    const [, name = "", pid] = LOG_SEGMENT_NAME.exec(basename(file.path)) ?? [];
    if (pid === undefined) continue;
    const session = sessionByName(draft, name);
    session.logs.push(file);
    if (writers.has(pid)) session.usedBy ??= `process ${pid} writes its log`;
    try {
      const text = Buffer.from(readWholeFile(nodeFileSystem, file.path)).toString("latin1");
      for (const handle of text.match(HANDLE_PATTERN) ?? []) session.handles.add(handle);
    } catch (error) {
      draft.problems.push(`${file.path}: ${codeOf(error) ?? String(error)}`);
    }
  }
}

const LOG_SEGMENT_NAME = /^(.+)\.(\d+)-\d+-\d+\.jsonl$/;

/** The regular files in a folder; none if it is missing or a link. */
async function filesIn(folder: string): Promise<readonly InventoryFile[]> {
  return (await entriesIn(folder)).flatMap(({ path, type, sizeBytes, modifiedMs }) =>
    type === "file" ? [{ path, sizeBytes, usedAtMs: modifiedMs }] : [],
  );
}

/** Single files, as far as they are there. */
async function inventoryOf(paths: readonly string[]): Promise<readonly InventoryFile[]> {
  const found = await Promise.all(
    paths.map((path) =>
      lstat(path)
        .then((stat) => ({ path, sizeBytes: stat.size, usedAtMs: stat.mtimeMs }))
        .catch(() => []),
    ),
  );
  return found.flat();
}

/** The folders in a folder, without links. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  return (await entriesIn(folder)).flatMap(({ path, type }) => (type === "folder" ? [path] : []));
}

/** The files below the folder of a spill store, which are named by the hash of their content. */
async function contentsIn(
  root: string,
  kind: InventoryContent["kind"],
): Promise<readonly InventoryContent[]> {
  const contents: InventoryContent[] = [];
  for (const shard of await shardsIn(root)) {
    for (const file of await filesIn(shard)) {
      const handle = basename(file.path);
      if (isSha256(handle)) contents.push({ ...file, root, handle, kind });
    }
  }
  return contents;
}

/** The folders of a spill store, each for the hashes that begin with its name. */
async function shardsIn(root: string): Promise<readonly string[]> {
  return (await foldersIn(root)).filter((folder) => /^[0-9a-f]{2}$/.test(basename(folder)));
}

/** Unfinished files and locks that killed programs left in the folder of a store. While a program is at work, a new one may be its own. */
async function temporariesIn(folder: string, draft: InventoryDraft): Promise<readonly InventoryFile[]> {
  const isQuiet = runningInstances(draft).length === 0;
  return (await filesIn(folder)).filter(
    ({ path, usedAtMs }) =>
      TEMPORARY_NAME.test(basename(path)) && (isQuiet || draft.nowMs - usedAtMs > TEMPORARY_MAX_AGE_MS),
  );
}

const TEMPORARY_NAME = /^\.\d+-[0-9a-f]{16}\.tmp$|\.lock(?:\.break)?$/;

async function entriesIn(folder: string): Promise<readonly Entry[]> {
  try {
    // The parent is checked as well: what lies below a linked folder is not ours.
    if (!isRealFolder(folder) || !isRealFolder(dirname(folder))) return [];
    const names = await readdir(folder);
    return names.flatMap((name) => entryAt(join(folder, name)) ?? []);
  } catch {
    return [];
  }
}

/** True for a folder that exists and is no link. */
function isRealFolder(path: string): boolean {
  return entryAt(path)?.type === "folder";
}

interface Entry extends FileStat {
  readonly path: string;
}

/** Undefined for one that was removed in the meantime. */
function entryAt(path: string): Entry | undefined {
  try {
    return { ...nodeFileSystem.lstat(path), path };
  } catch {
    return undefined;
  }
}

/**
 * Deletes the files of a plan one by one. Logs are deleted last, since they tell what belongs to a session: a purge that
 * was stopped half way can be repeated for the rest.
 */
export async function purgeFolders(plan: PurgePlan, options: PurgeOptions): Promise<Purged> {
  const { isQuiet, signal } = options;
  const done: Tally = { files: 0, bytes: 0, problems: [] };
  for (const [root, contents] of groupBy(plan.contents, ({ root }) => root)) {
    if (signal.aborted) break;
    await removeContents({ root, contents, isQuiet }, done);
  }
  for (const fork of plan.sessions.flatMap(({ forks }) => forks)) {
    if (signal.aborted) break;
    await removeFork(fork, done);
  }
  for (const file of [...plan.leftovers, ...plan.sessions.flatMap(({ logs }) => logs)]) {
    if (signal.aborted) break;
    removeFile(file, done);
  }
  if (!signal.aborted) await removeEmptyFolders(plan, options);
  return { ...done, status: signal.aborted ? "stopped" : "purged" };
}

interface PurgeOptions extends Pick<InventoryRequest, "folders" | "places"> {
  /** No program uses the folders, so that even new files can be deleted. */
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

/** Removes folders in which nothing is left; where a program may be about to write, only those that were just emptied. */
async function removeEmptyFolders(
  plan: PurgePlan,
  { isQuiet, folders, places }: PurgeOptions,
): Promise<void> {
  const emptied = [...new Set(filesOfPlan(plan).map(({ path }) => dirname(path)))];
  if (places === "usual")
    for (const folder of await foldersIn(suiteFolder(defaultEvalCacheFolder(process.env))))
      if (/^[0-9a-f]{16}\.git$/.test(basename(folder))) await rm(folder, { recursive: true, force: true });
  // Fails for a folder that is not empty, which is then kept.
  for (const folder of [...emptied, ...(isQuiet ? await ownFolders(folders, places) : [])]) {
    // What a store of records remembers of those that are gone.
    const names = await readdir(folder).catch(() => []);
    if (names.every((name) => name === GIVEN_VERSION_FILE))
      for (const name of names) removeQuietly(nodeFileSystem, join(folder, name));
    await rmdir(folder).catch(() => undefined);
  }
}

/** The folders that Carryover makes, inner ones first. */
async function ownFolders(
  folders: PluginFolders,
  places: InventoryRequest["places"],
): Promise<readonly string[]> {
  const { root, forks, views, journal, spill, control } = folders;
  const long = join(journal, "long");
  const measured = defaultEvalCacheFolder(process.env);
  const usual = [defaultStateFolder(), suiteFolder(measured), measured, dirname(measured)];
  const stateSpill = join(defaultStateFolder(), "spill");
  const waiting = join(root, WAITING_FOLDER);
  const own = [
    ...[...(await foldersIn(waiting)), waiting],
    ...(await foldersIn(forks)),
    ...(await Promise.all([long, views, spill].map(shardsIn))).flat(),
    ...["instances", "requests"].map((name) => join(control, name)),
    ...[long, views, spill, forks, journal, control, join(root, CHILD_SESSIONS)],
    // A folder that the user chose is not deleted.
    ...(root === pluginFolders({ store: undefined, env: process.env }).root ? [root] : []),
    ...(places === "usual" ? [...(await shardsIn(stateSpill)), stateSpill, ...usual] : []),
  ];
  return own.filter((folder) => isRealFolder(dirname(folder)));
}

interface Tally {
  files: number;
  bytes: number;
  readonly problems: string[];
}

interface ContentsOfRoot {
  readonly root: string;
  readonly contents: readonly InventoryContent[];
  readonly isQuiet: boolean;
}

/** Uses the store's own cleaning, which is safe against a concurrent put of the same content. */
async function removeContents({ root, contents, isQuiet }: ContentsOfRoot, done: Tally): Promise<void> {
  const selected = new Set(contents.map(({ handle }) => handle));
  const report = await cleanSpills({
    root,
    maxFiles: 0,
    ...(isQuiet && { minAgeMs: 0 }),
    live: async () => {
      const all = await contentsIn(root, "spill");
      return new Set(all.map(({ handle }) => handle).filter((handle) => !selected.has(handle)));
    },
  });
  if (report.status === "failed") {
    done.problems.push(`${root}: ${report.reason}`);
    return;
  }
  done.files += report.removedFiles;
  done.bytes += report.removedBytes;
  done.problems.push(...report.problems.map(({ reason }) => reason));
}

async function removeFork({ folder, id, path, sizeBytes }: InventoryFork, done: Tally): Promise<void> {
  const store = createFileRecordStore({ root: folder, durable: false });
  const found = await store.get(id);
  if (found.status !== "found") return;
  const deleted = await store.delete(id, found.version);
  if (deleted.status === "deleted") {
    done.files += 1;
    done.bytes += sizeBytes;
  } else done.problems.push(`${path}: ${deleted.status === "failed" ? deleted.reason : "it has changed"}`);
}

function removeFile({ path, sizeBytes }: InventoryFile, done: Tally): void {
  try {
    nodeFileSystem.unlink(path);
    done.files += 1;
    done.bytes += sizeBytes;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") done.problems.push(`${path}: ${codeOf(error)}`);
  }
}
