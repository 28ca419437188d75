import { fields, stringField } from "../../formats/fields.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { type InstanceLease, readLease } from "../../tasks/fork-lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../tasks/fork-record.ts";
import { readForkRecord } from "../../tasks/read-fork-record.ts";
import { groupBy } from "../../text/group-by.ts";
import { isUnfinished } from "../opencode/forks/left-forks.ts";
import { isHeld } from "../opencode/recorded-forks.ts";
import { isRunning } from "../opencode/window/control-store.ts";
import type { Kept, KeptFile, KeptFork, KeptSession } from "./purge-plan.ts";

/** What is kept in one place, and who works on it. */
export interface Inventory extends Kept {
  /** How many plugins run on it. */
  readonly running: number;
  readonly problems: readonly string[];
}

/** An inventory that is being taken. */
export interface Taking {
  readonly sessions: Map<string, SessionDraft>;
  readonly leftovers: KeptFile[];
  readonly problems: string[];
  readonly leases: InstanceLease[];
  readonly nowMs: number;
}

export interface SessionDraft extends KeptSession {
  id: string;
  readonly logs: KeptFile[];
  readonly forks: KeptFork[];
  readonly handles: Set<string>;
  usedBy?: string;
}

/** Nothing is known yet. */
export function startInventory(nowMs: number): Taking {
  return { sessions: new Map(), leftovers: [], problems: [], leases: [], nowMs };
}

/** The session of which something was found, by the name that its files have. */
export function draftNamed({ sessions }: Taking, name: string): SessionDraft {
  const draft = sessions.get(name) ?? { id: name, name, logs: [], forks: [], handles: new Set<string>() };
  sessions.set(name, draft);
  return draft;
}

/** The same where its id is known. */
export function draftOf(taking: Taking, id: string): SessionDraft {
  const draft = draftNamed(taking, pathName(id));
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
export interface RecordFile extends KeptFile {
  /** The record's. */
  readonly name: string;
}

/** Sorts records by the sessions that they belong to; what belongs to none, or is damaged, is left over. */
export function noteRecords(places: readonly RecordPlace[], taking: Taking): void {
  const values = places.flatMap(({ records }) => records.map(({ value }) => value));
  taking.leases.push(...values.flatMap((value) => readLease(value) ?? []));
  for (const place of places) notePlace(place, taking);
}

function notePlace({ folder, files, records }: RecordPlace, taking: Taking): void {
  const known = new Set<string>();
  const byName = groupBy(files, ({ name }) => name);
  for (const { id, value } of records) {
    const record = readForkRecord(value);
    const lease = readLease(value);
    if (lease !== undefined && isRunning(lease, taking.nowMs)) known.add(id);
    const root = record?.rootSessionId ?? rootOfLog(value);
    if (root === undefined) continue;
    known.add(id);
    const draft = draftOf(taking, root);
    const own = byName.get(id) ?? [];
    if (record === undefined) draft.logs.push(...own);
    else noteFork({ draft, fork: keptFork(record, { folder, own }), record, value }, taking);
  }
  for (const file of files) if (!known.has(file.name)) taking.leftovers.push(file);
}

/** The session of a record that says in which home a log is written. */
function rootOfLog(value: unknown): string | undefined {
  const { schema, rootSessionId } = fields(value);
  return schema === "log/1" ? stringField(rootSessionId) : undefined;
}

interface FoundFork {
  readonly draft: SessionDraft;
  readonly fork: KeptFork;
  readonly record: ForkRecord;
  readonly value: unknown;
}

function noteFork({ draft, fork, record, value }: FoundFork, taking: Taking): void {
  draft.forks.push(fork);
  for (const handle of JSON.stringify(value).match(HANDLE) ?? []) draft.handles.add(handle);
  const work = workOn(record, taking);
  if (work !== undefined) draft.usedBy ??= work;
}

function keptFork({ id }: ForkRecord, { folder, own }: OwnFiles): KeptFork {
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
  readonly own: readonly KeptFile[];
}

/** What a program that holds the fork still does with it. */
function workOn(record: ForkRecord, { leases, nowMs }: Taking): string | undefined {
  if (!isUnfinished(record) || !isHeld(record, { leases, nowMs })) return undefined;
  return `fork ${record.number} ${isLive(currentRun(record)) ? "runs" : "is being delivered"}`;
}

/** How a handle looks in a log or a record. */
export const HANDLE: RegExp = /\b[0-9a-f]{64}\b/g;

/** The signs of life of those who run, one of each. */
export function runningIn({ leases, nowMs }: Taking): readonly InstanceLease[] {
  const running = leases.filter((lease) => isRunning(lease, nowMs));
  return [...new Map(running.map((lease) => [lease.instanceId, lease])).values()];
}
