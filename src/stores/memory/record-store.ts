import type { RecordFound, RecordState, RecordStore } from "../../fork/life/record-store.ts";
import { toJson } from "../../text/failure.ts";

/** A record store in memory. */
export function createMemoryRecordStore(): RecordStore {
  const rows = new Map<string, Row>();
  let lastVersion = 0;
  const stateOf = (id: string): RecordState => rows.get(id)?.version ?? "missing";
  return {
    async get(id) {
      const row = rows.get(id);
      return row ? toFound(id, row) : { status: "missing" };
    },
    async put({ id, value, expected }) {
      const json = toJson(value);
      if (typeof json !== "string") return json;
      const actual = stateOf(id);
      if (actual !== expected) return { status: "conflict", actual };
      lastVersion += 1;
      rows.set(id, { version: lastVersion, json });
      return { status: "stored", version: lastVersion };
    },
    async list() {
      const records = Array.from(rows, ([id, row]) => toFound(id, row));
      records.sort((one, other) => (one.id < other.id ? -1 : 1));
      return { status: "listed", records, problems: [] };
    },
    async delete(id, expected) {
      const actual = stateOf(id);
      if (actual !== expected) return { status: "conflict", actual };
      rows.delete(id);
      return { status: "deleted" };
    },
  };
}

interface Row {
  readonly version: number;
  readonly json: string;
}

function toFound(id: string, row: Row): RecordFound {
  return { status: "found", id, version: row.version, value: JSON.parse(row.json) as unknown };
}
