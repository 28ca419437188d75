import { type InstanceLease, readLease } from "../../fork/life/lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../fork/life/record.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { isUnfinished } from "../../plugin/forks/adopt.ts";
import { isRunning } from "../../plugin/stores/control-store.ts";
import { isHeld } from "../../plugin/stores/plugin-stores.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { asObject, asString, groupBy } from "../../text/json.ts";
import type { InventoryFile, InventoryFork, InventoryItems, InventorySession } from "./plan.ts";

/** What is kept in one place, and who works on it. */
export interface Inventory extends InventoryItems {
  /** How many plugins run on it. */
  readonly running: number;
  readonly problems: readonly string[];
}

/** An inventory that is being taken. */
export interface InventoryDraft {
  readonly sessions: Map<string, SessionDraft>;
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
}

/** Nothing is known yet. */
export function createInventoryDraft(nowMs: number): InventoryDraft {
  return { sessions: new Map(), leftovers: [], problems: [], leases: [], nowMs };
}

/** The session of which something was found, by the name that its files have. */
export function sessionByName({ sessions }: InventoryDraft, name: string): SessionDraft {
  const draft = sessions.get(name) ?? { id: name, name, logs: [], forks: [], handles: new Set<string>() };
  sessions.set(name, draft);
  return draft;
}

/** The same where its id is known. */
export function sessionById(taking: InventoryDraft, id: string): SessionDraft {
  const draft = sessionByName(taking, pathName(id));
  draft.id = id;
  return draft;
}

/** Records that lie together, and what they take. */
export interface RecordPlace {
  readonly folder: string;
  /** Everything that was found of each record. */
  readonly files: readonly RecordFile[];
  readonly records: readonly { readonly id: string; readonly value: unknown }[];
}

/** A file, or a row, of a record. */
interface RecordFile extends InventoryFile {
  /** The record's. */
  readonly name: string;
}

/** Sorts records by the sessions that they belong to; what belongs to none, or is damaged, is left over. */
export function addRecords(places: readonly RecordPlace[], taking: InventoryDraft): void {
  const values = places.flatMap(({ records }) => records.map(({ value }) => value));
  taking.leases.push(...values.flatMap((value) => readLease(value) ?? []));
  for (const place of places) addRecordPlace(place, taking);
}

function addRecordPlace({ folder, files, records }: RecordPlace, taking: InventoryDraft): void {
  const known = new Set<string>();
  const byName = groupBy(files, ({ name }) => name);
  for (const { id, value } of records) {
    const record = readForkRecord(value);
    const lease = readLease(value);
    if (lease !== undefined && isRunning(lease, taking.nowMs)) known.add(id);
    const root = record?.rootSessionId ?? rootOfLog(value);
    if (root === undefined) continue;
    known.add(id);
    const draft = sessionById(taking, root);
    const own = byName.get(id) ?? [];
    if (record === undefined) draft.logs.push(...own);
    else addFork({ draft, fork: inventoryFork(record, { folder, own }), record, value }, taking);
  }
  for (const file of files) if (!known.has(file.name)) taking.leftovers.push(file);
}

/** The session of a record that says in which home a log is written. */
function rootOfLog(value: unknown): string | undefined {
  const { schema, rootSessionId } = asObject(value);
  return schema === "log/1" ? asString(rootSessionId) : undefined;
}

interface FoundFork {
  readonly draft: SessionDraft;
  readonly fork: InventoryFork;
  readonly record: ForkRecord;
  readonly value: unknown;
}

function addFork({ draft, fork, record, value }: FoundFork, taking: InventoryDraft): void {
  draft.forks.push(fork);
  for (const handle of JSON.stringify(value).match(HANDLE_PATTERN) ?? []) draft.handles.add(handle);
  const work = forkActivity(record, taking);
  if (work !== undefined) draft.usedBy ??= work;
}

function inventoryFork({ id }: ForkRecord, { folder, own }: OwnFiles): InventoryFork {
  return {
    path: `${folder}/${id}.json`,
    sizeBytes: own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    usedAtMs: Math.max(0, ...own.map(({ usedAtMs }) => usedAtMs)),
    folder,
    id,
  };
}

interface OwnFiles {
  readonly folder: string;
  readonly own: readonly InventoryFile[];
}

/** What a program that holds the fork still does with it. */
function forkActivity(record: ForkRecord, { leases, nowMs }: InventoryDraft): string | undefined {
  if (!isUnfinished(record) || !isHeld(record, { leases, nowMs })) return undefined;
  return `fork ${record.number} ${isLive(currentRun(record)) ? "runs" : "is being delivered"}`;
}

/** How a handle looks in a log or a record. */
export const HANDLE_PATTERN: RegExp = /\b[0-9a-f]{64}\b/g;

/** The signs of life of those who run, one of each. */
export function runningInstances({ leases, nowMs }: InventoryDraft): readonly InstanceLease[] {
  const running = leases.filter((lease) => isRunning(lease, nowMs));
  return [...new Map(running.map((lease) => [lease.instanceId, lease])).values()];
}
