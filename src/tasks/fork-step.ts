import type { ForkAction } from "./fork-action.ts";
import type { ForkRecord, ForkRun } from "./fork-record.ts";

/** A record after one event, and what the host is to do about it. */
export interface ForkStep {
  readonly record: ForkRecord;
  readonly actions: readonly ForkAction[];
}

/** Nothing to say: the same record, no action. */
export function unchanged(record: ForkRecord): ForkStep {
  return { record, actions: [] };
}

/** The record with its newest run replaced. */
export function withRun(record: ForkRecord, run: ForkRun): ForkRecord {
  if (record.runs.at(-1) === run) return record;
  return { ...record, runs: [...record.runs.slice(0, -1), run] };
}

/** An object without some of its fields. */
export function without<T extends object, K extends keyof T>(value: T, ...keys: readonly K[]): Omit<T, K> {
  const rest: Partial<T> = { ...value };
  for (const key of keys) delete rest[key];
  return rest as Omit<T, K>;
}
