import { existsSync } from "node:fs";
import { lstat, readdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type PluginFolders, pluginFolders } from "../../plugin/stores/folders.ts";
import { cleanOutputs } from "../../stores/files/clean-outputs.ts";
import {
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
import { type HandedSession, handedSessions, handoffFolder } from "../sessions/notes.ts";
import { sessionFolders } from "../sessions/session-agents.ts";
import { type FileKind, findOwn, handlesIn, isRealFolder, type OwnFile, ownRoots } from "./own-files.ts";
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

/** Lists everything of ours in the plugin's folder, and, if that is the usual one, where the library and measures lie. */
export async function readFolderInventory(request: InventoryRequest): Promise<Inventory> {
  const { folders, places, nowMs } = request;
  const draft = createInventoryDraft(nowMs);
  if (existsSync(folders.root) && !isRealFolder(folders.root)) {
    draft.problems.push(
      `${folders.root} is a link, which is not followed; name the folder itself with --store`,
    );
    return finishInventory(draft, []);
  }
  const found = await Promise.all(ownRoots(folders.root, places).map(findOwn));
  const byKind = groupBy(
    found.flatMap(({ files }) => files),
    ({ kind }) => kind,
  );
  const all = (kind: FileKind): readonly OwnFile[] => byKind.get(kind) ?? [];
  const records = groupBy(all("record"), ({ path }) => dirname(path));
  addRecords(draft, await Promise.all(Array.from(records, (place) => readRecords(place, draft))));
  addChildSessions(draft, all("childSession"));
  addLogs(draft, all("log"));
  const isQuiet = runningInstances(draft).length === 0;
  draft.leftovers.push(
    ...all("single"),
    // While a program is at work, a new one may be its own, and it may wait for what is passing.
    ...all("unfinished").filter(({ usedAtMs }) => isQuiet || nowMs - usedAtMs > TEMPORARY_MAX_AGE_MS),
    ...(isQuiet ? all("passing") : []),
  );
  if (places === "usual") await addHandedSessions(draft);
  const contents = (["output", "inherited", "long"] as const).flatMap((kind) =>
    all(kind).map((file) => ({
      ...file,
      root: dirname(dirname(file.path)),
      handle: basename(file.path),
      kind,
    })),
  );
  return finishInventory(draft, contents);
}

interface InventoryRequest {
  readonly folders: PluginFolders;
  /** `named`: only the store that `--store` names, without folders of other uses. */
  readonly places: "usual" | "named";
  readonly nowMs: number;
}

/** What the plugin writes to its folder wherever else it keeps the rest: its log, its notices, and a few marks. */
export async function readHomeFiles({ root }: PluginFolders): Promise<readonly InventoryFile[]> {
  const [found] = await Promise.all(ownRoots(root, "named").map(findOwn));
  return (found?.files ?? []).filter(({ kind }) => kind === "single");
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

/** Opens a folder as a store only if it holds records, since opening changes its permissions. */
async function readRecords(
  [folder, found]: readonly [folder: string, files: readonly OwnFile[]],
  draft: InventoryDraft,
): Promise<RecordPlace> {
  const files = found.map((file) => ({ ...file, name: recordNameOf(basename(file.path)) ?? "" }));
  const listed = await createFileRecordStore({ root: folder, durable: false }).list();
  if (listed.status === "failed") draft.problems.push(`${folder}: ${listed.reason}`);
  return { folder, files, records: listed.status === "listed" ? listed.records : [] };
}

/** They go with the session that forked; where no record of the fork is left, with everything else. */
function addChildSessions(draft: InventoryDraft, files: readonly OwnFile[]): void {
  for (const file of files)
    (draft.parents.get(basename(file.path, ".jsonl"))?.logs ?? draft.leftovers).push(file);
}

function addLogs(draft: InventoryDraft, files: readonly OwnFile[]): void {
  const writers = new Set(runningInstances(draft).map(({ process }) => `${process.pid}`));
  for (const file of files) {
    const [, name = "", pid = ""] = LOG_SEGMENT_NAME.exec(basename(file.path)) ?? [];
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
  if (places === "usual") await removeStoppedFetches();
  // Fails for a folder that is not empty, which is then kept.
  for (const folder of [...emptied, ...(isQuiet ? await ownFolders(folders, places) : [])]) {
    // What a store of records remembers of those that are gone.
    const names = await readdir(folder).catch(() => []);
    if (names.every((name) => name === GIVEN_VERSION_FILE))
      for (const name of names) removeQuietly(nodeFileSystem, join(folder, name));
    await rmdir(folder).catch(() => undefined);
  }
}

/** What `eval` was fetching when it was stopped. */
async function removeStoppedFetches(): Promise<void> {
  const suite = suiteFolder(defaultEvalCacheFolder(process.env));
  const names = isRealFolder(suite) ? await readdir(suite) : [];
  for (const name of names.filter((each) => /^[0-9a-f]{16}\.git$/.test(each)))
    await rm(join(suite, name), { recursive: true, force: true });
}

/** The folders that Carryover makes, inner ones first. One that the user chose stays. */
async function ownFolders(
  { root }: PluginFolders,
  places: InventoryRequest["places"],
): Promise<readonly string[]> {
  const usual = pluginFolders({ store: undefined, env: process.env }).root;
  const found = ownRoots(root, places).map(async (own) => [
    ...(await findOwn(own)).folders.toReversed(),
    ...((own.folder === root && root !== usual) || !isRealFolder(own.folder) ? [] : [own.folder]),
  ]);
  return (await Promise.all(found)).flat();
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
  const report = await cleanOutputs({
    root,
    maxFiles: 0,
    ...(isQuiet && { minAgeMs: 0 }),
    live: async () => {
      const all = await handlesIn(root);
      return new Set(all.filter((handle) => !selected.has(handle)));
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
