import type { RecordFound, RecordState, RecordStore } from "../fork/life/record-store.ts";
import type { Journal } from "../session/journal.ts";
import { toJson } from "../text/failure.ts";
import type { SpillStore } from "../tool-output/spill.ts";

/**
 * This room has the drivers of four ports: `SpillStore` (long outputs), `Journal` (the log of a session), `RecordStore`
 * (versioned records) and `Clock`. The first three exist in memory (here), in files (`files/`) and in PostgreSQL
 * (`postgres/stores.ts`), and all of them pass the same contract tests. Drivers do not throw: a failure is a value.
 */

/** A journal in memory. */
export function createMemoryJournal(): Journal {
  const lines: string[] = [];
  return {
    async append(value) {
      const json = toJson(value);
      if (typeof json !== "string") return json;
      lines.push(json);
      return { status: "appended", sequence: lines.length };
    },
    async read() {
      const entries = lines.map((json, index) => ({
        sequence: index + 1,
        writer: "memory",
        value: JSON.parse(json) as unknown,
      }));
      return { entries, problems: [] };
    },
  };
}

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

/** A spill store in memory; needs Web Crypto and nothing else. */
export function createMemorySpillStore(): SpillStore {
  const bytesByHandle = new Map<string, Uint8Array>();
  return {
    async put(content) {
      try {
        const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
        const sha256 = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
        bytesByHandle.set(sha256, bytes);
        return { status: "stored", handle: sha256, sha256, bytes: bytes.byteLength };
      } catch (error) {
        return {
          status: "failed",
          code: "NO_DIGEST",
          reason: error instanceof Error ? error.message : "no digest",
        };
      }
    },
    async get(handle) {
      const bytes = bytesByHandle.get(handle);
      return bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    },
  };
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
