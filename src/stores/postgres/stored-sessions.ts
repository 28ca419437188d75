import type { StoreFailure } from "../files/store-failure.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";
import { originalText, storableText } from "./text-key.ts";

/** A log that is kept. */
export interface StoredLog {
  readonly sessionId: string;
  /** By the server's clock. */
  readonly writtenAtMs: number;
}

/** Every log that is kept, the one written to last first. */
export async function listPostgresLogs(
  database: PostgresDatabase,
): Promise<readonly StoredLog[] | StoreFailure> {
  const text = `
    select log.session as "sessionId", ${MS("coalesce(newest.stored_at, log.started_at)")} as "writtenAtMs"
    from ${database.table("journals")} as log
    left join lateral (
      select stored_at from ${database.table("journal_entries")} as entry
      where entry.key = log.key order by sequence desc limit 1
    ) as newest on true
    order by 2 desc`;
  const rows = await database.use((connection) => connection.rows<StoredLog>(text, []));
  return "status" in rows ? rows : rows.map((row) => ({ ...row, sessionId: originalText(row.sessionId) }));
}

/** A record together with where it is kept. */
export interface ScopedRecord {
  readonly scope: string;
  readonly id: string;
  readonly version: number;
  /** Undefined for one that is damaged. */
  readonly value: unknown;
  readonly bytes: number;
  readonly storedAtMs: number;
}

/** The records of all scopes that begin like this. */
export async function recordsBelow(
  connection: Connection,
  { table, prefix }: { readonly table: string; readonly prefix: string },
): Promise<readonly ScopedRecord[]> {
  const text = `
    select scope, id, version::float8 as version, value, octet_length(value)::float8 as bytes,
      ${MS("stored_at")} as "storedAtMs"
    from ${table} where value is not null and starts_with(scope, $1) order by scope, id`;
  // Without the quote at its end.
  const stored = storableText(prefix).slice(0, -1);
  const rows = await connection.rows<RecordRow>(text, [stored]);
  return rows.map((row) => ({
    ...row,
    scope: originalText(row.scope),
    id: originalText(row.id),
    value: parsed(row.value),
  }));
}

/** A time of the server in milliseconds. */
export const MS = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

interface RecordRow extends ScopedRecord {
  readonly value: string;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
