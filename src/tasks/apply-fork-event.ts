import { advanceFork } from "./advance-fork.ts";
import type { ForkAction } from "./fork-action.ts";
import type { ForkEvent } from "./fork-event.ts";
import type { ForkLimits } from "./fork-limits.ts";
import type { ForkRecord } from "./fork-record.ts";
import { readForkRecord } from "./read-fork-record.ts";
import type { RecordStore } from "./record-store.ts";

/**
 * Reads a fork, advances it and stores it in one step against all other writers. Actions are given only when they
 * are this instance's to do: its record is stored, and still its own.
 */
export async function applyForkEvent(
  store: RecordStore,
  event: ForkEvent & { readonly forkId: string },
  { instanceId, limits }: ApplyOptions,
): Promise<AppliedEvent> {
  const { forkId } = event;
  for (let attempt = 1; attempt <= MAX_CONFLICTS; attempt++) {
    const found = await store.get(forkId);
    if (found.status !== "found") return found;
    const before = readForkRecord(found.value);
    if (before === undefined) return { status: "corrupt", reason: "it is no fork record" };
    if (event.type !== "adopted" && before.owner.instanceId !== instanceId) {
      return { status: "foreign", record: before };
    }
    const { record, actions } = advanceFork(before, event, limits);
    if (record.owner.instanceId !== instanceId) return { status: "foreign", record };
    if (record === before) return { status: "applied", before, record, actions };
    const stored = await store.put({ id: forkId, value: record, expected: found.version });
    if (stored.status === "stored") return { status: "applied", before, record, actions };
    if (stored.status === "failed") return stored;
  }
  return { status: "failed", code: "CONFLICT", reason: "others kept writing the record; try again" };
}

export interface ApplyOptions {
  readonly instanceId: string;
  readonly limits: ForkLimits;
}

export type AppliedEvent =
  | {
      readonly status: "applied";
      readonly before: ForkRecord;
      readonly record: ForkRecord;
      readonly actions: readonly ForkAction[];
    }
  /** Somebody else owns it: do nothing. */
  | { readonly status: "foreign"; readonly record: ForkRecord }
  | { readonly status: "missing" }
  | { readonly status: "corrupt"; readonly reason: string }
  /** Nothing was done; a later tick asks again. */
  | { readonly status: "failed"; readonly code: string; readonly reason: string };

const MAX_CONFLICTS = 64;
