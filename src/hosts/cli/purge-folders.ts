import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { fields, stringField } from "../../formats/fields.ts";
import { defaultStateFolder } from "../../stores/files/default-state-folder.ts";
import { createFileRecordStore } from "../../stores/files/file-record-store.ts";
import { nodeFileSystem } from "../../stores/files/file-system.ts";
import { readWholeFile } from "../../stores/files/whole-file.ts";
import type { PluginFolders } from "../opencode/plugin-folder.ts";
import { defaultEvalCacheFolder } from "./eval-cache.ts";
import { contentsIn, filesIn, foldersIn, isLeftBehind, isRealFolder, recordName } from "./purge-files.ts";
import {
  draftNamed,
  HANDLE,
  type Inventory,
  noteRecords,
  type RecordPlace,
  runningIn,
  startInventory,
  type Taking,
} from "./purge-inventory.ts";
import type { KeptFile } from "./purge-plan.ts";

/**
 * Everything of ours in the plugin's folders, and, where those are the usual ones, in the state and the cache folder.
 * Takes only what has a name as we give it, enters no linked folder, removes nothing.
 */
export async function takeFolders(request: InventoryRequest): Promise<Inventory> {
  const { folders, places, nowMs } = request;
  if (existsSync(folders.root) && !isRealFolder(folders.root)) {
    const problem = `${folders.root} is a link, which is not followed; name the folder itself with --store`;
    return { sessions: [], contents: [], leftovers: [], running: 0, problems: [problem] };
  }
  const taking = startInventory(nowMs);
  const recordFolders = [
    ...(await foldersIn(folders.forks)),
    join(folders.control, "instances"),
    join(folders.control, "requests"),
  ];
  noteRecords(await Promise.all(recordFolders.map((folder) => readRecords(folder, taking))), taking);
  await noteLogs(folders.journal, taking);
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
  const running = runningIn(taking).length;
  return { sessions: [...taking.sessions.values()], contents, leftovers, running, problems };
}

export interface InventoryRequest {
  readonly folders: PluginFolders;
  /** `named`: a store that somebody named, so that folders of other uses are left out. */
  readonly places: "usual" | "named";
  readonly nowMs: number;
}

/** A folder in which nothing looks like a record is not opened as a store: that would change its rights. */
async function readRecords(folder: string, { problems, leftovers, nowMs }: Taking): Promise<RecordPlace> {
  const all = await filesIn(folder);
  leftovers.push(...all.filter((file) => recordName(file) === undefined && isLeftBehind(file, nowMs)));
  const files = all.flatMap((file) => {
    const name = recordName(file);
    return name === undefined ? [] : [{ ...file, name }];
  });
  if (files.length === 0) return { folder, files, records: [] };
  const listed = await createFileRecordStore({ root: folder, durable: false }).list();
  if (listed.status === "failed") problems.push(`${folder}: ${listed.reason}`);
  return { folder, files, records: listed.status === "listed" ? listed.records : [] };
}

async function noteLogs(folder: string, taking: Taking): Promise<void> {
  const writers = new Set(runningIn(taking).map(({ process }) => `${process.pid}`));
  for (const file of await filesIn(folder)) {
    const [, name = "", pid] = SEGMENT.exec(basename(file.path)) ?? [];
    if (pid === undefined) {
      if (isLeftBehind(file, taking.nowMs)) taking.leftovers.push(file);
      continue;
    }
    const draft = draftNamed(taking, name);
    draft.logs.push(file);
    for (const handle of handlesIn(file, taking)) draft.handles.add(handle);
    if (writers.has(pid)) draft.usedBy ??= `process ${pid} writes its log`;
  }
}

const SEGMENT = /^(.+)\.(\d+)-\d+-\d+\.jsonl$/;

function handlesIn({ path }: KeptFile, { problems }: Taking): readonly string[] {
  try {
    return Buffer.from(readWholeFile(nodeFileSystem, path)).toString("latin1").match(HANDLE) ?? [];
  } catch (error) {
    problems.push(`${path}: ${stringField(fields(error).code) ?? String(error)}`);
    return [];
  }
}
