import { type InstanceLease, readLease } from "../../fork/life/lease.ts";
import { currentRun, type ForkRecord, isLive } from "../../fork/life/record.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { isUnfinished } from "../../plugin/forks/adopt-forks.ts";
import { isRunning } from "../../plugin/stores/control-store.ts";
import { isHeld } from "../../plugin/stores/recorded-forks.ts";
import { pathName } from "../../stores/files/path-name.ts";
import { groupBy } from "../../text/group-by.ts";
import { asObject, asString } from "../../text/unknown-value.ts";

/** Everything that Carryover has stored, in folders or in a database. */
export interface InventoryItems {
  readonly sessions: readonly InventorySession[];
  /** Files that are named by their content, and may belong to several sessions. */
  readonly contents: readonly InventoryContent[];
  /** Everything else: cached measures, requests to a running plugin, files left by a killed program. */
  readonly leftovers: readonly InventoryFile[];
}

/** What belongs to one root session. */
export interface InventorySession {
  /** The session's id, or the name of its files where only that is known. */
  readonly id: string;
  /** The name of its files. */
  readonly name: string;
  readonly logs: readonly InventoryFile[];
  readonly forks: readonly InventoryFork[];
  /** The handles that its log and its forks mention. */
  readonly handles: ReadonlySet<string>;
  /** Which program uses it now; unset if none does. */
  readonly usedBy?: string;
  /** For which agent it was written, by `handoff` or `rescue`; unset for one of the agent's own. */
  readonly handed?: string;
  /** The id of one that was written, where its agent may know it by another. */
  readonly writtenId?: string;
}

/** A file, or a row of a database: a log, a record, an output. */
export interface InventoryFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly usedAtMs: number;
}

/** The record of a fork, which must be deleted through the record store. */
export interface InventoryFork extends InventoryFile {
  readonly folder: string;
  readonly id: string;
}

export interface InventoryContent extends InventoryFile {
  /** The folder that holds all contents of its kind. */
  readonly root: string;
  readonly handle: string;
  /** `output`: whole outputs; `inherited`: what children inherited; `long`: long entries of logs. */
  readonly kind: "output" | "inherited" | "long";
}

/** What the user wants to delete. */
export type PurgeFilter =
  | { readonly type: "all" }
  | { readonly type: "older"; readonly thanMs: number }
  | { readonly type: "session"; readonly name: string };

export interface PurgePlan {
  readonly sessions: readonly InventorySession[];
  readonly contents: readonly InventoryContent[];
  readonly leftovers: readonly InventoryFile[];
  /** Selected, but kept because a program uses it. */
  readonly inUse: readonly InventorySession[];
}

/** Decides what to delete. Contents that a remaining session refers to are kept. */
export function planPurge(items: InventoryItems, { filter, force, nowMs, only }: PurgeRequest): PurgePlan {
  const isWanted = (session: InventorySession): boolean => {
    if (only !== undefined && !only.has(session.name)) return false;
    if (filter.type === "all") return true;
    if (filter.type === "session") return session.name === filter.name;
    return nowMs - lastUsedAt(session) > filter.thanMs;
  };
  const wanted = items.sessions.filter(isWanted);
  const isFree = ({ usedBy }: InventorySession): boolean => force === "in-use-too" || usedBy === undefined;
  const sessions = wanted.filter(isFree);
  const gone = new Set(sessions);
  const needed = new Set(
    items.sessions.filter((session) => !gone.has(session)).flatMap(({ handles }) => [...handles]),
  );
  const mentioned = new Set(sessions.flatMap(({ handles }) => [...handles]));
  const isOld = ({ usedAtMs }: InventoryFile): boolean =>
    filter.type === "older" && nowMs - usedAtMs > filter.thanMs;
  return {
    sessions,
    contents: items.contents.filter(
      (content) =>
        !needed.has(content.handle) &&
        // A long entry of a log is deleted with the log only, however old it is.
        (filter.type === "all" ||
          mentioned.has(content.handle) ||
          (content.kind !== "long" && isOld(content))),
    ),
    leftovers: items.leftovers.filter((file) => filter.type === "all" || isOld(file)),
    inUse: wanted.filter((session) => !isFree(session)),
  };
}

export interface PurgeRequest {
  readonly filter: PurgeFilter;
  readonly force: "in-use-too" | "never";
  readonly nowMs: number;
  /** The names of the sessions that may be deleted; all when unset. */
  readonly only?: ReadonlySet<string>;
}

/** When anything of a session was last written. */
export function lastUsedAt({ logs, forks }: InventorySession): number {
  return Math.max(0, ...[...logs, ...forks].map(({ usedAtMs }) => usedAtMs));
}

/** The files that a plan deletes. */
export function filesOfPlan({ sessions, contents, leftovers }: PurgePlan): readonly InventoryFile[] {
  return [...sessions.flatMap(({ logs, forks }) => [...logs, ...forks]), ...contents, ...leftovers];
}

/** What was deleted. */
export interface Purged {
  readonly status: "purged" | "stopped";
  readonly files: number;
  readonly bytes: number;
  readonly problems: readonly string[];
}

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
