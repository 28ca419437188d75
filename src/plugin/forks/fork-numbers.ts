import { nextForkNumber } from "../../fork/life/admit.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import type { RecordState, RecordStore } from "../../fork/life/record-store.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { asNumber, asObject, asString } from "../../text/unknown-value.ts";

/** The newest number of each root is a stored record, replaced by compare-and-set. */
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

  /** The stored number; no state where the store cannot be read. */
  async function newestOf(
    rootSessionId: string,
  ): Promise<{ readonly state: RecordState | undefined; readonly newest: number }> {
    const found = await store.get(recordIdOf(rootSessionId));
    if (found.status === "failed") return { state: undefined, newest: 0 };
    const newest = found.status === "found" ? readNewestNumber(found.value)?.newest : undefined;
    const state = found.status === "found" ? found.version : found.status;
    return { state, newest: newest ?? nextForkNumber(await storedForks(), rootSessionId) - 1 };
  }

  /** For a root whose number was purged. */
  async function storedForks(): Promise<readonly ForkRecord[]> {
    const listed = await store.list();
    if (listed.status === "failed") return [];
    return listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
  }

  return {
    // One at a time within this program, so that only other programs cause conflicts.
    take(rootSessionId) {
      const taken = last.then(() => take(rootSessionId));
      last = taken.catch(() => {});
      return taken;
    },
  };
}

interface ForkNumbersOptions {
  readonly store: RecordStore;
  /** The forks that this program keeps. */
  readonly known: () => readonly ForkRecord[];
  readonly now: () => number;
}

/** The newest number of a root, as it is stored. */
interface NewestNumber {
  readonly schema: "fork-numbers/1";
  readonly rootSessionId: string;
  readonly newest: number;
  readonly atMs: number;
}

/** The number in a stored value, or undefined for anything else. */
export function readNewestNumber(value: unknown): NewestNumber | undefined {
  const { schema, rootSessionId, newest, atMs } = asObject(value);
  const isNumber =
    schema === "fork-numbers/1" &&
    asString(rootSessionId) !== undefined &&
    Number.isSafeInteger(newest) &&
    asNumber(atMs) !== undefined;
  return isNumber ? (value as NewestNumber) : undefined;
}

function recordIdOf(rootSessionId: string): string {
  return `numbers-${rootSessionId}`;
}

const MAX_ATTEMPTS = 50;

/** Numbers the forks of each root from 1 on. No number is given twice, not even by two programs at once. */
export interface ForkNumbers {
  take(rootSessionId: string): Promise<number>;
}
