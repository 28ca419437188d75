import { fields, numberField, stringField } from "../../../formats/fields.ts";
import { nextForkNumber } from "../../../tasks/admit-fork.ts";
import type { ForkRecord } from "../../../tasks/fork-record.ts";
import { readForkRecord } from "../../../tasks/read-fork-record.ts";
import type { RecordState, RecordStore } from "../../../tasks/record-store.ts";

/** Numbers the forks of each root from 1 on; no number is given twice, also not by two programs at the same moment. */
export interface ForkNumbers {
  take(rootSessionId: string): Promise<number>;
}

/** The numbers of a store: the newest one of each root is a record, which only who knows it can replace. */
export function createForkNumbers({ store, known, now }: ForkNumbersOptions): ForkNumbers {
  let last: Promise<unknown> = Promise.resolve();

  async function take(rootSessionId: string): Promise<number> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const { state, newest } = await newestOf(rootSessionId);
      const number = Math.max(newest + 1, nextForkNumber(known(), rootSessionId));
      if (state === undefined) return number;
      const value: NewestNumber = { schema: "fork-numbers/1", rootSessionId, newest: number, atMs: now() };
      const stored = await store.put({ id: recordIdOf(rootSessionId), value, expected: state });
      if (stored.status !== "conflict") return number;
    }
    return nextForkNumber(known(), rootSessionId);
  }

  /** What is stored; no state where the store cannot say. */
  async function newestOf(
    rootSessionId: string,
  ): Promise<{ readonly state: RecordState | undefined; readonly newest: number }> {
    const found = await store.get(recordIdOf(rootSessionId));
    if (found.status === "failed") return { state: undefined, newest: 0 };
    const newest = found.status === "found" ? readNewestNumber(found.value)?.newest : undefined;
    const state = found.status === "found" ? found.version : found.status;
    return { state, newest: newest ?? nextForkNumber(await storedForks(), rootSessionId) - 1 };
  }

  /** Forks from before their numbers were kept, or whose number was purged. */
  async function storedForks(): Promise<readonly ForkRecord[]> {
    const listed = await store.list();
    if (listed.status === "failed") return [];
    return listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
  }

  return {
    // One after the other within this program: only other programs are met with a conflict.
    take(rootSessionId) {
      const taken = last.then(() => take(rootSessionId));
      last = taken.catch(() => {});
      return taken;
    },
  };
}

export interface ForkNumbersOptions {
  readonly store: RecordStore;
  /** The forks that this program keeps. */
  readonly known: () => readonly ForkRecord[];
  readonly now: () => number;
}

/** The newest number of a root, as it is stored. */
export interface NewestNumber {
  readonly schema: "fork-numbers/1";
  readonly rootSessionId: string;
  readonly newest: number;
  readonly atMs: number;
}

/** The number in a stored value, or undefined for anything else. */
export function readNewestNumber(value: unknown): NewestNumber | undefined {
  const { schema, rootSessionId, newest, atMs } = fields(value);
  const isNumber =
    schema === "fork-numbers/1" &&
    stringField(rootSessionId) !== undefined &&
    Number.isSafeInteger(newest) &&
    numberField(atMs) !== undefined;
  return isNumber ? (value as NewestNumber) : undefined;
}

function recordIdOf(rootSessionId: string): string {
  return `numbers-${rootSessionId}`;
}

const MAX_ATTEMPTS = 50;
