import { randomUUID } from "node:crypto";
import type {
  RecordConflict,
  RecordCorrupt,
  RecordFailure,
  RecordFound,
  RecordProblem,
  RecordState,
  RecordStore,
} from "../../fork/life/record-store.ts";
import { toJson } from "../../text/failure.ts";
import { createLruMap } from "../../text/lru-map.ts";
import {
  type Connection,
  originalText,
  type PostgresDatabase,
  SERVER_NOW,
  storableText,
  textKey,
} from "./database.ts";

/**
 * A record store of rows. A deleted record keeps its version as a tombstone, so that a new record with its id gets a higher
 * one. A version may come again when a server takes over that lacks the last commits, so a write also compares by whom the
 * version was written that this program has seen.
 */
export function createPostgresRecordStore(database: PostgresDatabase, scope: string): RecordStore {
  const table = database.table("records");
  const scopeText = storableText(scope);
  const fences = fencesOf(database);
  const fenceKey = (id: string): string => JSON.stringify([scope, id]);
  const remember = (id: string, { version, writeId }: Fence): void =>
    fences.set(fenceKey(id), { version, writeId });

  /** The key of a row, which is the first two values of every statement. */
  const keyOf = (id: string): readonly unknown[] => [scopeText, textKey(id)];

  async function readRow(connection: Connection, id: string): Promise<Row | undefined> {
    const text = `select ${COLUMNS} from ${table} where scope = $1 and key = $2`;
    return (await connection.rows<Row>(text, keyOf(id)))[0];
  }

  /** Writes in one statement. If it changed nothing, the row tells why: a conflict, or an earlier try of this write. */
  async function change({ id, expected, json }: Change): Promise<Changed> {
    const writeId = randomUUID();
    let tries = 0;
    const changed = await database.use<Changed>(async (connection) => {
      tries += 1;
      const state = expected === "corrupt" ? await corruptVersion(connection, id) : expected;
      const written = await write(connection, { id, state, json, writeId });
      if (written !== undefined) return { status: "stored", version: written };
      const row = await readRow(connection, id);
      if (row?.writeId === writeId) return { status: "stored", version: row.version };
      // After a lost connection the first try may have succeeded and then been replaced by another write.
      return tries > 1 ? OUTCOME_UNKNOWN : { status: "conflict", actual: stateOf(row) };
    });
    if (changed.status === "stored") remember(id, { version: changed.version, writeId });
    return changed;
  }

  async function corruptVersion(connection: Connection, id: string): Promise<number | undefined> {
    const row = await readRow(connection, id);
    return row !== undefined && stateOf(row) === "corrupt" ? row.version : undefined;
  }

  async function write(
    connection: Connection,
    { id, state, json, writeId }: Write,
  ): Promise<number | undefined> {
    if (state === undefined) return undefined;
    const rows =
      state === "missing"
        ? json === null
          ? []
          : await connection.rows<Version>(CREATE(table), [...keyOf(id), storableText(id), json, writeId])
        : await connection.rows<Version>(REPLACE(table), [
            ...keyOf(id),
            state,
            json,
            writeId,
            fenceOf(id, state),
          ]);
    return rows[0]?.version;
  }

  /** Who wrote the version as this program has seen it; null if it has not. */
  function fenceOf(id: string, version: number): string | null {
    const seen = fences.get(fenceKey(id));
    return seen?.version === version ? seen.writeId : null;
  }

  return {
    async get(id) {
      const row = await database.use((connection) => readRow(connection, id));
      if (row !== undefined && "status" in row) return row;
      if (row !== undefined) remember(id, row);
      return row === undefined || row.value === null ? { status: "missing" } : read(row);
    },

    async put({ id, value, expected }) {
      const json = toJson(value);
      return typeof json === "string" ? change({ id, expected, json }) : json;
    },

    async list() {
      const text = `select ${COLUMNS} from ${table} where scope = $1 and value is not null`;
      const rows = await database.use((connection) => connection.rows<Row>(text, [scopeText]));
      if ("status" in rows) return rows;
      const records: RecordFound[] = [];
      const problems: RecordProblem[] = [];
      for (const row of rows) {
        const record = read(row);
        remember(originalText(row.id), row);
        if (record.status === "found") records.push(record);
        else
          problems.push({ id: originalText(row.id), place: scope, code: "CORRUPT", reason: record.reason });
      }
      records.sort((left, right) => (left.id < right.id ? -1 : 1));
      return { status: "listed", records, problems };
    },

    async delete(id, expected) {
      if (expected === "missing") return deleteMissing(id);
      const changed = await change({ id, expected, json: null });
      return changed.status === "stored" ? { status: "deleted" } : changed;
    },
  };

  async function deleteMissing(
    id: string,
  ): Promise<RecordConflict | RecordFailure | { readonly status: "deleted" }> {
    const row = await database.use((connection) => readRow(connection, id));
    if (row !== undefined && "status" in row) return row;
    const actual = stateOf(row);
    return actual === "missing" ? { status: "deleted" } : { status: "conflict", actual };
  }
}

/** The age is by the server's clock at the moment of reading, as leases need it. */
const COLUMNS = `id, version::float8 as version, value, write_id as "writeId",
  (extract(epoch from clock_timestamp() - stored_at) * 1000)::float8 as "ageMs", ${SERVER_NOW}`;

/** By whom the versions were written that a program has seen. */
function fencesOf(database: PostgresDatabase): Fences {
  const known = fencesByDatabase.get(database) ?? createLruMap<string, Fence>(MAX_FENCES);
  fencesByDatabase.set(database, known);
  return known;
}

const fencesByDatabase = new WeakMap<PostgresDatabase, Fences>();
type Fences = ReturnType<typeof createLruMap<string, Fence>>;
const MAX_FENCES = 20_000;

interface Fence extends Version {
  readonly writeId: string;
}

/** The first version is the server's time, so that versions grow even after a tombstone was removed. */
const CREATE = (table: string): string => `
  insert into ${table} as present (scope, key, id, version, value, write_id)
  values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000)::bigint, $4, $5)
  on conflict (scope, key) do update
    set version = present.version + 1, value = excluded.value, write_id = excluded.write_id, stored_at = now()
    where present.value is null
  returning version::float8 as version`;

const REPLACE = (table: string): string => `
  update ${table} set version = version + 1, value = $4, write_id = $5, stored_at = now()
  where scope = $1 and key = $2 and version = $3 and value is not null and write_id = coalesce($6, write_id)
  returning version::float8 as version`;

const OUTCOME_UNKNOWN: RecordFailure = {
  status: "failed",
  code: "OUTCOME_UNKNOWN",
  reason:
    "The connection was lost while the record was written, and it is in another state now; read it again.",
};

interface Change {
  readonly id: string;
  readonly expected: RecordState;
  /** Null deletes. */
  readonly json: string | null;
}

interface Write extends Pick<Change, "id" | "json"> {
  /** Undefined if the record is not in the expected state. */
  readonly state: number | "missing" | undefined;
  readonly writeId: string;
}

type Changed = { readonly status: "stored"; readonly version: number } | RecordConflict | RecordFailure;

interface Version {
  readonly version: number;
}

interface Row extends Fence {
  readonly id: string;
  /** Null for a deleted record. */
  readonly value: string | null;
  readonly ageMs: number;
}

function stateOf(row: Row | undefined): RecordState {
  if (row === undefined || row.value === null) return "missing";
  return read(row).status === "found" ? row.version : "corrupt";
}

function read({ id, version, value, ageMs }: Row): RecordFound | RecordCorrupt {
  try {
    const parsed: unknown = JSON.parse(value ?? "");
    return { status: "found", id: originalText(id), version, value: parsed, ageMs };
  } catch {
    return { status: "corrupt", reason: "the stored value is not JSON" };
  }
}
