import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { fields, stringField } from "../../formats/fields.ts";
import { defaultStateFolder } from "../../stores/files/default-state-folder.ts";
import { createFileRecordStore } from "../../stores/files/file-record-store.ts";
import { nodeFileSystem } from "../../stores/files/file-system.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { processState } from "../../stores/files/process-identity.ts";
import { readWholeFile } from "../../stores/files/whole-file.ts";
import { type InstanceLease, leaseState, readLease } from "../../tasks/fork-lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../tasks/fork-record.ts";
import { readForkRecord } from "../../tasks/read-fork-record.ts";
import type { RecordFound } from "../../tasks/record-store.ts";
import { isUnfinished } from "../opencode/forks/left-forks.ts";
import type { PluginFolders } from "../opencode/plugin-folder.ts";
import { defaultEvalCacheFolder } from "./eval-cache.ts";
import { contentsIn, filesIn, foldersIn, isLeftBehind, isRealFolder, recordName } from "./purge-files.ts";
import type { Kept, KeptFile, KeptFork, KeptSession } from "./purge-plan.ts";

/**
 * Everything of ours in the plugin's folders, and, where those are the usual ones, in the state and the cache folder.
 * Takes only what has a name as we give it, enters no linked folder, removes nothing.
 */
export async function takeInventory(request: InventoryRequest): Promise<Inventory> {
  const { folders, places, nowMs } = request;
  if (existsSync(folders.root) && !isRealFolder(folders.root)) {
    const problem = `${folders.root} is a link, which is not followed; name the folder itself with --store`;
    return { sessions: [], contents: [], leftovers: [], running: 0, problems: [problem] };
  }
  const found: Found = { sessions: new Map(), leftovers: [], problems: [], leases: [], nowMs };
  const forkFolders = await foldersIn(folders.forks);
  const recordFolders = [
    ...forkFolders,
    join(folders.control, "instances"),
    join(folders.control, "requests"),
  ];
  const read = await Promise.all(recordFolders.map((folder) => readRecords(folder, found)));
  for (const { records } of read)
    for (const { value } of records) {
      const lease = readLease(value);
      if (lease !== undefined) found.leases.push(lease);
    }
  for (const each of read) noteRecords(each, found);
  await noteLogs(folders.journal, found);
  const contents = [
    ...(await contentsIn(folders.spill, "spill")),
    ...(await contentsIn(folders.views, "view")),
    ...(await contentsIn(join(folders.journal, "long"), "long")),
  ];
  if (places === "usual") {
    contents.push(...(await contentsIn(join(defaultStateFolder(process.env), "spill"), "spill")));
    const measures = await filesIn(defaultEvalCacheFolder(process.env));
    found.leftovers.push(...measures.filter(({ path }) => /^[0-9a-f]{64}\.json$/.test(basename(path))));
  }
  const { leftovers, problems, leases } = found;
  const running = leases.filter((lease) => isRunning(lease, nowMs)).length;
  return { sessions: [...found.sessions.values()], contents, leftovers, running, problems };
}

export interface InventoryRequest {
  readonly folders: PluginFolders;
  /** `named`: a store that somebody named, so that folders of other uses are left out. */
  readonly places: "usual" | "named";
  readonly nowMs: number;
}

export interface Inventory extends Kept {
  /** How many plugins run on these folders. */
  readonly running: number;
  readonly problems: readonly string[];
}

interface Found {
  readonly sessions: Map<string, SessionDraft>;
  readonly leftovers: KeptFile[];
  readonly problems: string[];
  readonly leases: InstanceLease[];
  readonly nowMs: number;
}

interface SessionDraft extends KeptSession {
  id: string;
  readonly logs: KeptFile[];
  readonly forks: KeptFork[];
  readonly handles: Set<string>;
  usedBy?: string;
}

function draftOf({ sessions }: Found, name: string, id = name): SessionDraft {
  const draft = sessions.get(name) ?? { id, name, logs: [], forks: [], handles: new Set<string>() };
  if (id !== name) draft.id = id;
  sessions.set(name, draft);
  return draft;
}

interface RecordFolder {
  readonly folder: string;
  readonly files: readonly KeptFile[];
  readonly records: readonly RecordFound[];
}

/** A folder in which nothing looks like a record is not opened as a store: that would change its rights. */
async function readRecords(folder: string, { problems }: Found): Promise<RecordFolder> {
  const files = await filesIn(folder);
  if (!files.some((file) => recordName(file) !== undefined)) return { folder, files, records: [] };
  const listed = await createFileRecordStore({ root: folder, durable: false }).list();
  if (listed.status === "failed") problems.push(`${folder}: ${listed.reason}`);
  return { folder, files, records: listed.status === "listed" ? listed.records : [] };
}

function noteRecords({ folder, files, records }: RecordFolder, found: Found): void {
  const names = new Set<string>();
  for (const { id, value } of records) {
    const record = readForkRecord(value);
    const lease = readLease(value);
    if (lease !== undefined && isRunning(lease, found.nowMs)) names.add(id);
    if (record === undefined) continue;
    names.add(id);
    const draft = draftOf(found, pathName(record.rootSessionId), record.rootSessionId);
    draft.forks.push(keptFork(record, { folder, files }));
    for (const handle of JSON.stringify(value).match(HANDLE) ?? []) draft.handles.add(handle);
    const work = workOn(record, found);
    if (work !== undefined) draft.usedBy ??= work;
  }
  // Damaged records, requests nobody waits for and the signs of life of what is gone.
  for (const file of files) {
    const name = recordName(file);
    if (name === undefined ? isLeftBehind(file, found.nowMs) : !names.has(name)) found.leftovers.push(file);
  }
}

function keptFork(record: ForkRecord, { folder, files }: Omit<RecordFolder, "records">): KeptFork {
  const own = files.filter((file) => recordName(file) === record.id);
  return {
    path: join(folder, `${record.id}.json`),
    sizeBytes: own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    usedAtMs: Math.max(0, ...own.map(({ usedAtMs }) => usedAtMs)),
    folder,
    id: record.id,
  };
}

/** What a program that holds the fork still does with it. */
function workOn(record: ForkRecord, { leases, nowMs }: Found): string | undefined {
  if (!isUnfinished(record)) return undefined;
  const lease = leases.find(({ instanceId }) => instanceId === record.owner.instanceId);
  const sight = { nowMs, process: processState(record.owner.process), ...(lease && { lease }) };
  if (leaseState(record.owner, sight) === "lost") return undefined;
  return `fork ${record.number} ${isLive(currentRun(record)) ? "runs" : "is being delivered"}`;
}

async function noteLogs(folder: string, found: Found): Promise<void> {
  const writers = new Set(
    found.leases.filter((lease) => isRunning(lease, found.nowMs)).map((lease) => `${lease.process.pid}`),
  );
  for (const file of await filesIn(folder)) {
    const [, name = "", pid] = SEGMENT.exec(basename(file.path)) ?? [];
    if (pid === undefined) {
      if (isLeftBehind(file, found.nowMs)) found.leftovers.push(file);
      continue;
    }
    const draft = draftOf(found, name);
    draft.logs.push(file);
    for (const handle of handlesIn(file, found)) draft.handles.add(handle);
    if (writers.has(pid)) draft.usedBy ??= `process ${pid} writes its log`;
  }
}

const SEGMENT = /^(.+)\.(\d+)-\d+-\d+\.jsonl$/;
const HANDLE = /\b[0-9a-f]{64}\b/g;

/** One that cannot be asked, since it runs elsewhere, counts as running for a day. */
function isRunning({ process, heartbeatAtMs }: InstanceLease, nowMs: number): boolean {
  const state = processState(process);
  return state === "running" || (state === "unknown" && nowMs - heartbeatAtMs < UNKNOWN_MS);
}

const UNKNOWN_MS = 86_400_000;

function handlesIn({ path }: KeptFile, { problems }: Found): readonly string[] {
  try {
    return Buffer.from(readWholeFile(nodeFileSystem, path)).toString("latin1").match(HANDLE) ?? [];
  } catch (error) {
    problems.push(`${path}: ${stringField(fields(error).code) ?? String(error)}`);
    return [];
  }
}
