import type { RecordState } from "../../src/fork/life/record-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";

/** Which saved outputs the sessions of a process still need, written down where the cleaning of another sees it. */
export interface LiveHandles {
  add(handle: string): Promise<void>;
  clear(): Promise<void>;
  /** Those of all processes. */
  ofAll(): Promise<ReadonlySet<string>>;
}

/** One record for each process, all in one folder. */
export function createLiveHandles(root: string, id: string): LiveHandles {
  const store = createFileRecordStore({ root, durable: false });
  const handles = new Set<string>();
  let expected: RecordState = "missing";
  const write = async (): Promise<void> => {
    const stored = await store.put({ id, value: [...handles], expected });
    if (stored.status !== "stored") throw new Error(JSON.stringify(stored));
    expected = stored.version;
  };
  return {
    async add(handle) {
      handles.add(handle);
      await write();
    },
    async clear() {
      handles.clear();
      await write();
    },
    async ofAll() {
      const listed = await store.list();
      if (listed.status === "failed") throw new Error(listed.reason);
      return new Set(listed.records.flatMap(({ value }) => value as readonly string[]));
    },
  };
}
