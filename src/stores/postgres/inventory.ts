import type { StoreFailure } from "../../text/failure.ts";
import { groupBy } from "../../text/group-by.ts";
import { type Connection, originalText, type PostgresDatabase, storableText } from "./database.ts";

/** A stored log. */
export interface StoredLog {
  readonly sessionId: string;
  /** By the server's clock. */
  readonly writtenAtMs: number;
}

/** Lists all logs, the most recently written first. */
export async function listPostgresLogs(
  database: PostgresDatabase,
): Promise<readonly StoredLog[] | StoreFailure> {
  const text = `
    select log.session as "sessionId", ${epochMs("coalesce(newest.stored_at, log.started_at)")} as "writtenAtMs"
    from ${database.table("journals")} as log
    left join lateral (
      select stored_at from ${database.table("journal_entries")} as entry
      where entry.key = log.key order by sequence desc limit 1
    ) as newest on true
    order by 2 desc`;
  const rows = await database.use((connection) => connection.rows<StoredLog>(text, []));
  return "status" in rows ? rows : rows.map((row) => ({ ...row, sessionId: originalText(row.sessionId) }));
}

/** A record and its scope. */
export interface ScopedRecord {
  readonly scope: string;
  readonly id: string;
  readonly version: number;
  /** Undefined if it is damaged. */
  readonly value: unknown;
  readonly bytes: number;
  readonly storedAtMs: number;
}

/** The records of all scopes with this prefix. */
export async function recordsBelow(
  connection: Connection,
  { table, prefix }: { readonly table: string; readonly prefix: string },
): Promise<readonly ScopedRecord[]> {
  const text = `
    select scope, id, version::float8 as version, value, octet_length(value)::float8 as bytes,
      ${epochMs("stored_at")} as "storedAtMs"
    from ${table} where value is not null and starts_with(scope, $1) order by scope, id`;
  // Without the closing quote.
  const stored = storableText(prefix).slice(0, -1);
  const rows = await connection.rows<RecordRow>(text, [stored]);
  return rows.map((row) => ({
    ...row,
    scope: originalText(row.scope),
    id: originalText(row.id),
    value: parsed(row.value),
  }));
}

/** A column's time in milliseconds. */
const epochMs = (column: string): string => `(extract(epoch from ${column}) * 1000)::float8`;

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

/** Everything in a database, with the references to outputs, so that unused ones can be found. */
export interface PostgresInventory {
  readonly logs: readonly InventoryLog[];
  readonly records: readonly ScopedRecord[];
  readonly outputs: readonly InventoryOutput[];
  readonly claims: readonly OutputClaim[];
}

export interface InventoryLog {
  readonly sessionId: string;
  readonly bytes: number;
  readonly writtenAtMs: number;
  /** The outputs that its entries refer to. */
  readonly handles: readonly string[];
}

export interface InventoryOutput {
  readonly handle: string;
  readonly bytes: number;
  readonly usedAtMs: number;
}

/** A session's claim to an output. */
export interface OutputClaim {
  readonly handle: string;
  readonly claimant: string;
}

/** What to delete. */
export interface RowsToDelete {
  /** Sessions whose logs and claims are deleted. */
  readonly sessions: readonly string[];
  readonly records: readonly Pick<ScopedRecord, "scope" | "id" | "version">[];
  /** Handles; an output that another session claims is kept. */
  readonly outputs: readonly string[];
  /** Outputs used more recently are kept, since they may be about to be referred to. */
  readonly minAgeMs: number;
}

/** How much was deleted. */
export interface PostgresPurged {
  readonly status: "purged";
  readonly logs: number;
  readonly records: number;
  readonly outputs: number;
  readonly bytes: number;
}

/** Lists everything in a database. */
export function takePostgresInventory(database: PostgresDatabase): Promise<PostgresInventory | StoreFailure> {
  return database.use((connection) => readInventory(connection, database));
}

/** Reads the inventory and deletes what `choose` selects, in one transaction. Keeps outputs that are claimed or used meanwhile. */
export async function purgePostgres(
  database: PostgresDatabase,
  choose: (inventory: PostgresInventory) => RowsToDelete,
): Promise<PostgresPurged | StoreFailure> {
  let before: PostgresPurged | undefined;
  return database.use((connection) =>
    connection.inTransaction(async () => {
      const purged = await deleteRows(connection, {
        database,
        selected: choose(await readInventory(connection, database)),
      });
      // A retry after a lost connection finds that the first commit has deleted everything.
      if (before !== undefined && purged.logs + purged.records + purged.outputs === 0) return before;
      before = purged;
      return purged;
    }),
  );
}

async function readInventory(
  connection: Connection,
  { table }: PostgresDatabase,
): Promise<PostgresInventory> {
  const [journals, entries, outputTable] = [table("journals"), table("journal_entries"), table("outputs")];
  const logs = await connection.rows<Omit<InventoryLog, "handles">>(
    `select session as "sessionId", coalesce(sum(octet_length(value)), 0)::float8 as bytes,
      ${epochMs("coalesce(max(stored_at), started_at)")} as "writtenAtMs"
    from ${journals} left join ${entries} using (key) group by key order by session`,
    [],
  );
  const named = await connection.rows<{ readonly sessionId: string; readonly handle: string }>(
    `select distinct session as "sessionId", name[1] as handle
    from ${journals} join ${entries} using (key), regexp_matches(value, '\\m[0-9a-f]{64}\\M', 'g') as name
    where exists (select from ${outputTable} where sha256 = decode(name[1], 'hex'))`,
    [],
  );
  const namedBy = groupBy(named, ({ sessionId }) => sessionId);
  const claims = await connection.rows<OutputClaim>(
    `select encode(sha256, 'hex') as handle, claimant from ${table("output_claims")}`,
    [],
  );
  const outputs = await connection.rows<InventoryOutput>(
    `select encode(sha256, 'hex') as handle, bytes::float8 as bytes, ${epochMs("used_at")} as "usedAtMs" from ${outputTable}`,
    [],
  );
  return {
    logs: logs.map(({ sessionId, ...log }) => ({
      ...log,
      sessionId: originalText(sessionId),
      handles: (namedBy.get(sessionId) ?? []).map(({ handle }) => handle),
    })),
    records: await recordsBelow(connection, { table: table("records"), prefix: "" }),
    outputs,
    claims: claims.map(({ handle, claimant }) => ({ handle, claimant: originalText(claimant) })),
  };
}

interface Removing {
  readonly database: PostgresDatabase;
  readonly selected: RowsToDelete;
}

async function deleteRows(
  connection: Connection,
  { database: { table }, selected }: Removing,
): Promise<PostgresPurged> {
  const sessions = selected.sessions.map(storableText);
  const outputTable = table("outputs");
  const claims = table("output_claims");
  const logs = await connection.rows<Sized>(
    `with gone as (delete from ${table("journals")} where session = any($1) returning key)
    select coalesce(sum(octet_length(value)), 0)::float8 as bytes
    from gone left join ${table("journal_entries")} using (key) group by key`,
    [sessions],
  );
  await connection.rows(`delete from ${claims} where claimant = any($1)`, [sessions]);
  const records = await connection.rows<Sized>(
    `with selected as (
      select * from unnest($1::text[], $2::text[], $3::bigint[]) as given (scope, id, version)
    )
    delete from ${table("records")} as record using selected
    where record.scope = selected.scope and record.id = selected.id and record.version = selected.version
    returning coalesce(octet_length(record.value), 0)::float8 as bytes`,
    [
      selected.records.map(({ scope }) => storableText(scope)),
      selected.records.map(({ id }) => storableText(id)),
      selected.records.map(({ version }) => version),
    ],
  );
  const hashes = selected.outputs.map((handle) => Buffer.from(handle, "hex"));
  // Waits for concurrent claims, which lock the row, so that all of them are visible below.
  await connection.rows(`select from ${outputTable} where sha256 = any($1) order by sha256 for update`, [
    hashes,
  ]);
  const outputs = await connection.rows<Sized>(
    `delete from ${outputTable} as stored where sha256 = any($1)
      and used_at <= now() - $2 * interval '1 millisecond'
      and not exists (select from ${claims} as claim where claim.sha256 = stored.sha256)
    returning bytes::float8 as bytes`,
    [hashes, selected.minAgeMs],
  );
  return {
    status: "purged",
    logs: logs.length,
    records: records.length,
    outputs: outputs.length,
    bytes: [...logs, ...records, ...outputs].reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

interface Sized {
  readonly bytes: number;
}
