import { currentRun, type ForkRecord, isLive } from "../../fork/life/record.ts";
import { type InstanceLease, readForkRecord, readLease } from "../../fork/life/stored-record.ts";
import { isUnfinished } from "../../plugin/forks/clock.ts";
import { isRunning } from "../../plugin/stores/control-store.ts";
import { isHeld } from "../../plugin/stores/plugin-stores.ts";
import { pathName } from "../../stores/files/file-system.ts";
import { asObject, asString, groupBy } from "../../text/json.ts";
import type { InventoryFile, InventoryFork, InventoryItems, InventorySession } from "./plan.ts";

/** Everything that is stored in one place, and which programs use it. */
export interface Inventory extends InventoryItems {
  /** How many plugins use the place now. */
  readonly running: number;
  readonly problems: readonly string[];
}

/** An inventory that is being built. */
export interface InventoryDraft {
  readonly sessions: Map<string, SessionDraft>;
  /** The session under which a fork's own hangs, by the id of that. */
  readonly parents: Map<string, SessionDraft>;
  readonly leftovers: InventoryFile[];
  readonly problems: string[];
  readonly leases: InstanceLease[];
  readonly nowMs: number;
}

interface SessionDraft extends InventorySession {
  id: string;
  readonly logs: InventoryFile[];
  readonly forks: InventoryFork[];
  readonly handles: Set<string>;
  usedBy?: string;
  handed?: string;
  writtenId?: string;
}

/** An empty draft. */
export function createInventoryDraft(nowMs: number): InventoryDraft {
  return { sessions: new Map(), parents: new Map(), leftovers: [], problems: [], leases: [], nowMs };
}

/** The finished inventory. */
export function finishInventory(draft: InventoryDraft, contents: InventoryItems["contents"]): Inventory {
  const { leftovers, problems } = draft;
  const running = runningInstances(draft).length;
  return { sessions: [...draft.sessions.values()], contents, leftovers, running, problems };
}

/** The session with this file name, added if it is new. */
export function sessionByName({ sessions }: InventoryDraft, name: string): SessionDraft {
  const session = sessions.get(name) ?? { id: name, name, logs: [], forks: [], handles: new Set<string>() };
  sessions.set(name, session);
  return session;
}

/** The session with this id, added if it is new. */
export function sessionById(draft: InventoryDraft, id: string): SessionDraft {
  const session = sessionByName(draft, pathName(id));
  session.id = id;
  return session;
}

/** The records of one folder or scope. */
export interface RecordPlace {
  readonly folder: string;
  /** All files or rows of records, with the record's name. */
  readonly files: readonly (InventoryFile & { readonly name: string })[];
  readonly records: readonly { readonly id: string; readonly value: unknown }[];
}

/** Assigns records to their sessions; damaged ones and those without a session become leftovers. */
export function addRecords(draft: InventoryDraft, places: readonly RecordPlace[]): void {
  const values = places.flatMap(({ records }) => records.map(({ value }) => value));
  draft.leases.push(...values.flatMap((value) => readLease(value) ?? []));
  for (const place of places) addRecordPlace(draft, place);
}

function addRecordPlace(draft: InventoryDraft, { folder, files, records }: RecordPlace): void {
  const known = new Set<string>();
  const byName = groupBy(files, ({ name }) => name);
  for (const { id, value } of records) {
    const record = readForkRecord(value);
    const lease = readLease(value);
    if (lease !== undefined && isRunning(lease, draft.nowMs)) known.add(id);
    const root = record?.rootSessionId ?? rootOfLog(value);
    if (root === undefined) continue;
    known.add(id);
    const session = sessionById(draft, root);
    const own = byName.get(id) ?? [];
    if (record === undefined) {
      session.logs.push(...own);
      continue;
    }
    if (record.childSessionId !== undefined) draft.parents.set(record.childSessionId, session);
    session.forks.push({
      path: `${folder}/${id}.json`,
      sizeBytes: own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      usedAtMs: Math.max(0, ...own.map(({ usedAtMs }) => usedAtMs)),
      folder,
      id: record.id,
    });
    for (const handle of JSON.stringify(value).match(HANDLE_PATTERN) ?? []) session.handles.add(handle);
    const activity = forkActivity(record, draft);
    if (activity !== undefined) session.usedBy ??= activity;
  }
  for (const file of files) if (!known.has(file.name)) draft.leftovers.push(file);
}

/** The session of a record that says in which home a log is written. */
function rootOfLog(value: unknown): string | undefined {
  const { schema, rootSessionId } = asObject(value);
  return schema === "log/1" ? asString(rootSessionId) : undefined;
}

/** What a running program does with a fork. */
function forkActivity(record: ForkRecord, { leases, nowMs }: InventoryDraft): string | undefined {
  if (!isUnfinished(record) || !isHeld(record, { leases, nowMs })) return undefined;
  return `fork ${record.number} ${isLive(currentRun(record)) ? "runs" : "is being delivered"}`;
}

/** Handles in the text of a log or a record. */
export const HANDLE_PATTERN: RegExp = /\b[0-9a-f]{64}\b/g;

/** The leases of running programs, one of each. */
export function runningInstances({ leases, nowMs }: InventoryDraft): readonly InstanceLease[] {
  const running = leases.filter((lease) => isRunning(lease, nowMs));
  return [...new Map(running.map((lease) => [lease.instanceId, lease])).values()];
}
