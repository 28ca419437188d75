import { createFileRecordStore } from "../../stores/files/record-store.ts";
import { asArray, asNumber, asObject } from "../../text/unknown-value.ts";

/** What is kept of each session beside OpenClaw's transcript: one record, which other processes may write as well. */
export function createSessionRecords(root: string): SessionRecords {
  const records = createFileRecordStore({ root });
  return {
    async get(key) {
      const record = await records.get(key);
      return { version: versionOf(record), kept: keptIn(record) };
    },

    async update(key, change) {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const record = await records.get(key);
        if (record.status === "failed") throw new Error(`Carryover cannot read a session: ${record.reason}`);
        const expected = record.status === "found" ? record.version : record.status;
        const written = await records.put({ id: key, value: change(keptIn(record)), expected });
        if (written.status === "failed")
          throw new Error(`Carryover cannot keep a session: ${written.reason}`);
        if (written.status === "stored") return { before: versionOf(record), after: written.version };
      }
      throw new Error("Carryover cannot keep a session: others write it all the time.");
    },

    async forget(key) {
      const record = await records.get(key);
      if (record.status === "found") await records.delete(key, record.version);
    },
  };
}

interface SessionRecords {
  get(key: string): Promise<{ readonly version: RecordVersion; readonly kept: Kept }>;
  /** Changes a record, again where another process was faster. Throws where it cannot be written. */
  update(
    key: string,
    change: (kept: Kept) => Kept,
  ): Promise<{ readonly before: RecordVersion; readonly after: RecordVersion }>;
  forget(key: string): Promise<void>;
}

export type RecordVersion = number | "missing";

/** The content of a record. */
export interface Kept {
  readonly state?: unknown;
  /** The newest turns that were taken in. */
  readonly turns: readonly string[];
  /** The handles of outputs that were trimmed. */
  readonly outputs: readonly string[];
}

function keptIn(record: object): Kept {
  const { state, turns, outputs } = asObject(asObject(record).value);
  const texts = (list: unknown) => asArray(list).filter((each) => typeof each === "string");
  return { state, turns: texts(turns), outputs: texts(outputs) };
}

function versionOf(record: object): RecordVersion {
  return asNumber(asObject(record).version) ?? "missing";
}

const MAX_TRIES = 20;
