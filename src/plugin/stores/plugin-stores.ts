import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type InstanceLease, leaseState, readLease } from "../../fork/life/lease.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import type { Journal, JournalContent } from "../../session/journal.ts";
import { processState } from "../../stores/files/exclusive-access.ts";
import { createFileRecordStore } from "../../stores/files/record-store.ts";
import type { StoreFailure } from "../../text/failure.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import type { ControlStore } from "./control-store.ts";
import type { PluginFolders } from "./folders.ts";
import type { ViewStore } from "./views.ts";

/** Everything that the plugin keeps, in files or in a database, as it and the command line see it. */
export interface PluginStores {
  readonly spills: SpillStore;
  readonly views: ViewStore;
  readonly control: ControlStore;
  journal(rootSessionId: string): Journal;
  /** The records of the forks of one project, by the name that its agent gives it. */
  forks(project: string): RecordStore;
  /** The root sessions whose logs were opened by this program. */
  openLogs(): readonly string[];
  /** The logs that are kept, the one written to last first. */
  logs(): Promise<PluginLogs>;
  /** The forks of all projects that can be seen from here. */
  recordedForks(): Promise<RecordedForks>;
  /** Follows what is written about a root session. */
  follow(rootSessionId: string): FollowedPlugin;
  /** The clock by which leases expire, the same for all who share these stores, in milliseconds. */
  now(): number;
  /** Whether the stores can be used. Files always can; a failed write is reported where it happens. */
  open(): Promise<{ readonly status: "open" } | StoreFailure>;
  close(): Promise<void>;
}

export interface PluginLogs {
  readonly logs: readonly PluginLog[];
  readonly problems: readonly string[];
}

/** The log of a root session. */
export interface PluginLog {
  readonly rootSessionId: string;
  readonly writtenAtMs: number;
  /** Elsewhere: a plugin of another home wrote it into the same database. */
  readonly writtenIn: "this-home" | "elsewhere";
}

export interface FollowedPlugin {
  /** Between two calls of `look`. */
  readonly lookMs: number;
  /** The log and the forks; undefined when nothing changed since the last call. */
  look(): Promise<SeenPlugin | undefined>;
}

interface SeenPlugin {
  readonly journal: JournalContent;
  readonly forks: RecordedForks;
}

/** True for the address of a database, which may hold a password. */
export function isDatabase(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}

/** The recorded forks, newest first, and what could not be read. */
export interface RecordedForks {
  readonly records: readonly ForkRecord[];
  /** Those of other homes that share the store. */
  readonly elsewhere: readonly ForkRecord[];
  /** The leases of their owners. */
  readonly leases: readonly InstanceLease[];
  readonly problems: readonly string[];
}

/** Every fork that is recorded in files, of all projects. */
export async function readForks({ forks }: Pick<PluginFolders, "forks">): Promise<RecordedForks> {
  const values: unknown[] = [];
  const problems: string[] = [];
  for (const project of await readdir(forks).catch(() => [])) {
    const place = join(forks, project);
    const listed = await createFileRecordStore({ root: place, durable: false }).list();
    if (listed.status === "failed") {
      problems.push(`${place}: ${listed.reason}`);
      continue;
    }
    values.push(...listed.records.map(({ value }) => value));
    for (const { id, place: where, reason } of listed.problems) problems.push(`${id ?? where}: ${reason}`);
  }
  return recordedForks({ here: values, elsewhere: [], problems });
}

/** The forks among stored values. */
export function recordedForks({ here, elsewhere, problems }: StoredForks): RecordedForks {
  return {
    records: forksIn(here),
    elsewhere: forksIn(elsewhere),
    leases: [...here, ...elsewhere].flatMap((value) => readLease(value) ?? []),
    problems,
  };
}

interface StoredForks {
  readonly here: readonly unknown[];
  readonly elsewhere: readonly unknown[];
  readonly problems: readonly string[];
}

/** True unless the program that owns a fork is gone, or has not renewed its lease for too long. */
export function isHeld({ owner }: ForkRecord, { leases, nowMs }: HeldQuestion): boolean {
  const lease = leases.find(({ instanceId }) => instanceId === owner.instanceId);
  const seen = { nowMs, process: processState(owner.process), ...(lease && { lease }) };
  return leaseState(owner, seen) === "held";
}

export interface HeldQuestion extends Pick<RecordedForks, "leases"> {
  /** By the clock of the store. */
  readonly nowMs: number;
}

function forksIn(values: readonly unknown[]): readonly ForkRecord[] {
  return values
    .flatMap((value) => readForkRecord(value) ?? [])
    .sort((left, right) => queuedAt(right) - queuedAt(left));
}

function queuedAt({ runs }: ForkRecord): number {
  return Math.max(0, ...runs.map(({ queuedAtMs }) => queuedAtMs));
}
