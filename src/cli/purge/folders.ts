import { existsSync } from "node:fs";
import { readdir, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { PluginFolders } from "../../plugin/stores/folders.ts";
import { nodeFileSystem } from "../../stores/files/file-system.ts";
import { defaultStateFolder } from "../../stores/files/path-name.ts";
import { createFileRecordStore, recordNameOf } from "../../stores/files/record-store.ts";
import { cleanSpills, isSha256 } from "../../stores/files/spill-store.ts";
import { readWholeFile, TEMPORARY_MAX_AGE_MS } from "../../stores/files/whole-file.ts";
import { codeOf } from "../../stores/store-failure.ts";
import { asObject, asString, groupBy } from "../../text/json.ts";
import { defaultEvalCacheFolder } from "../eval/run-eval.ts";
import {
  addRecords,
  createInventoryDraft,
  HANDLE_PATTERN,
  type Inventory,
  type InventoryDraft,
  type RecordPlace,
  runningInstances,
  sessionByName,
} from "./inventory.ts";
import type { InventoryContent, InventoryFile, InventoryFork, PurgePlan } from "./plan.ts";

/**
 * Everything of ours in the plugin's folders, and, where those are the usual ones, in the state and the cache folder.
 * Takes only what has a name as we give it, enters no linked folder, removes nothing.
 */
export async function readFolderInventory(request: InventoryRequest): Promise<Inventory> {
  const { folders, places, nowMs } = request;
  if (existsSync(folders.root) && !isRealFolder(folders.root)) {
    const problem = `${folders.root} is a link, which is not followed; name the folder itself with --store`;
    return { sessions: [], contents: [], leftovers: [], running: 0, problems: [problem] };
  }
  const taking = createInventoryDraft(nowMs);
  const recordFolders = [
    ...(await foldersIn(folders.forks)),
    join(folders.control, "instances"),
    join(folders.control, "requests"),
  ];
  addRecords(await Promise.all(recordFolders.map((folder) => readRecords(folder, taking))), taking);
  await addLogs(folders.journal, taking);
  const contents = [
    ...(await contentsIn(folders.spill, "spill")),
    ...(await contentsIn(folders.views, "view")),
    ...(await contentsIn(join(folders.journal, "long"), "long")),
  ];
  if (places === "usual") {
    contents.push(...(await contentsIn(join(defaultStateFolder(process.env), "spill"), "spill")));
    const measures = await filesIn(defaultEvalCacheFolder(process.env));
    taking.leftovers.push(...measures.filter(({ path }) => /^[0-9a-f]{64}\.json$/.test(basename(path))));
  }
  const { leftovers, problems } = taking;
  const running = runningInstances(taking).length;
  return { sessions: [...taking.sessions.values()], contents, leftovers, running, problems };
}

interface InventoryRequest {
  readonly folders: PluginFolders;
  /** `named`: a store that somebody named, so that folders of other uses are left out. */
  readonly places: "usual" | "named";
  readonly nowMs: number;
}

/** A folder in which nothing looks like a record is not opened as a store: that would change its rights. */
async function readRecords(
  folder: string,
  { problems, leftovers, nowMs }: InventoryDraft,
): Promise<RecordPlace> {
  const all = await filesIn(folder);
  leftovers.push(...all.filter((file) => recordName(file) === undefined && isStaleTemporary(file, nowMs)));
  const files = all.flatMap((file) => {
    const name = recordName(file);
    return name === undefined ? [] : [{ ...file, name }];
  });
  if (files.length === 0) return { folder, files, records: [] };
  const listed = await createFileRecordStore({ root: folder, durable: false }).list();
  if (listed.status === "failed") problems.push(`${folder}: ${listed.reason}`);
  return { folder, files, records: listed.status === "listed" ? listed.records : [] };
}

async function addLogs(folder: string, taking: InventoryDraft): Promise<void> {
  const writers = new Set(runningInstances(taking).map(({ process }) => `${process.pid}`));
  for (const file of await filesIn(folder)) {
    const [, name = "", pid] = LOG_SEGMENT_NAME.exec(basename(file.path)) ?? [];
    if (pid === undefined) {
      if (isStaleTemporary(file, taking.nowMs)) taking.leftovers.push(file);
      continue;
    }
    const draft = sessionByName(taking, name);
    draft.logs.push(file);
    for (const handle of handlesIn(file, taking)) draft.handles.add(handle);
    if (writers.has(pid)) draft.usedBy ??= `process ${pid} writes its log`;
  }
}

const LOG_SEGMENT_NAME = /^(.+)\.(\d+)-\d+-\d+\.jsonl$/;

function handlesIn({ path }: InventoryFile, { problems }: InventoryDraft): readonly string[] {
  try {
    return Buffer.from(readWholeFile(nodeFileSystem, path)).toString("latin1").match(HANDLE_PATTERN) ?? [];
  } catch (error) {
    problems.push(`${path}: ${asString(asObject(error).code) ?? String(error)}`);
    return [];
  }
}

/** The regular files of a folder; none of a folder that is missing or a link. */
async function filesIn(folder: string): Promise<readonly InventoryFile[]> {
  return (await entriesIn(folder)).flatMap(({ path, type, sizeBytes, modifiedMs }) =>
    type === "file" ? [{ path, sizeBytes, usedAtMs: modifiedMs }] : [],
  );
}

/** The real folders in a folder. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  return (await entriesIn(folder)).flatMap(({ path, type }) => (type === "folder" ? [path] : []));
}

/** The files below a folder that are named by their content, as a spill store keeps them. */
async function contentsIn(
  root: string,
  kind: InventoryContent["kind"],
): Promise<readonly InventoryContent[]> {
  const contents: InventoryContent[] = [];
  for (const shard of await foldersIn(root)) {
    if (!/^[0-9a-f]{2}$/.test(basename(shard))) continue;
    for (const file of await filesIn(shard)) {
      const handle = basename(file.path);
      if (isSha256(handle)) contents.push({ ...file, root, handle, kind });
    }
  }
  return contents;
}

/** True for what a kill has left: a file that was never finished, or a lock, old enough that nobody can still need it. */
function isStaleTemporary({ path, usedAtMs }: InventoryFile, nowMs: number): boolean {
  const isUnfinished = /^\.\d+-[0-9a-f]{16}\.tmp$|\.lock(?:\.break)?$/.test(basename(path));
  return isUnfinished && nowMs - usedAtMs > TEMPORARY_MAX_AGE_MS;
}

/** The name of the record that a file belongs to. */
function recordName({ path }: InventoryFile): string | undefined {
  return recordNameOf(basename(path));
}

async function entriesIn(folder: string): Promise<readonly Entry[]> {
  try {
    // The one above too: what lies below a linked folder is not below ours.
    if (!isRealFolder(folder) || !isRealFolder(dirname(folder))) return [];
    const names = await readdir(folder);
    return names.flatMap((name) => entryAt(join(folder, name)));
  } catch {
    return [];
  }
}

/** True for a folder that is there and not a link. */
function isRealFolder(path: string): boolean {
  return entryAt(path).some(({ type }) => type === "folder");
}

interface Entry {
  readonly path: string;
  readonly type: "file" | "folder" | "other";
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** Nothing for one that somebody has removed meanwhile. */
function entryAt(path: string): readonly Entry[] {
  try {
    return [{ ...nodeFileSystem.lstat(path), path }];
  } catch {
    return [];
  }
}

/**
 * Removes what a plan names, file by file. Logs go last, since they say what belongs to a session: one that was stopped
 * half way finishes the rest when it is asked again.
 */
export async function runPurge(plan: PurgePlan, { isQuiet, signal }: PurgeOptions): Promise<Purged> {
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
  const folders = new Set(
    [...plan.contents, ...plan.leftovers, ...filesOfSessions(plan)].map(({ path }) => dirname(path)),
  );
  if (!signal.aborted) for (const folder of folders) await removeEmptyFolder(folder);
  return { ...done, status: signal.aborted ? "stopped" : "purged" };
}

interface PurgeOptions {
  /** Nobody else works in the folders, so that even what was just written may go. */
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
}

export interface Purged {
  readonly status: "purged" | "stopped";
  readonly files: number;
  readonly bytes: number;
  readonly problems: readonly string[];
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

/** Through the store's own cleaning, which never removes what is put again at the same moment. */
async function removeContents({ root, contents, isQuiet }: ContentsOfRoot, done: Tally): Promise<void> {
  const doomed = new Set(contents.map(({ handle }) => handle));
  const report = await cleanSpills({
    root,
    maxFiles: 0,
    ...(isQuiet && { minAgeMs: 0 }),
    live: async () => {
      const all = await contentsIn(root, "spill");
      return new Set(all.map(({ handle }) => handle).filter((handle) => !doomed.has(handle)));
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

function filesOfSessions({ sessions }: PurgePlan): readonly InventoryFile[] {
  return sessions.flatMap(({ logs, forks }) => [...logs, ...forks]);
}

/** A folder in which anything is left stays. */
async function removeEmptyFolder(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
}
