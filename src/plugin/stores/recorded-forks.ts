import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type InstanceLease, leaseState, readLease } from "../../fork/life/lease.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { processState } from "../../stores/files/process-identity.ts";
import { createFileRecordStore } from "../../stores/files/record-store.ts";
import type { PluginFolders } from "./folders.ts";

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
