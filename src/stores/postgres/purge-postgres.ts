import type { StoreFailure } from "../files/store-failure.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";
import { MS, recordsBelow, type ScopedRecord } from "./stored-sessions.ts";
import { originalText, storableText } from "./text-key.ts";

/** Everything in a database, with what names what, so that it can be told which outputs nobody needs any more. */
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
  /** Of the outputs that its entries name. */
  readonly handles: readonly string[];
}

export interface InventoryOutput {
  readonly handle: string;
  readonly bytes: number;
  readonly usedAtMs: number;
}

/** A session's word that it needs an output. */
export interface OutputClaim {
  readonly handle: string;
  readonly claimant: string;
}

/** What is to go. */
export interface DoomedRows {
  /** Whose logs and claims go. */
  readonly sessions: readonly string[];
  readonly records: readonly Pick<ScopedRecord, "scope" | "id" | "version">[];
  /** Handles; one that somebody else claims stays all the same. */
  readonly outputs: readonly string[];
  /** Outputs that were used since stay: somebody may be about to name them. */
  readonly minAgeMs: number;
}

export interface PostgresPurged {
  readonly status: "purged";
  readonly logs: number;
  readonly records: number;
  readonly outputs: number;
  readonly bytes: number;
}

/** Looks at everything and changes nothing. */
export function takePostgresInventory(database: PostgresDatabase): Promise<PostgresInventory | StoreFailure> {
  return database.use((connection) => inventory(connection, database));
}

/**
 * Removes what is chosen of what there is now, in one transaction: looked at, chosen and removed, or nothing at all. An
 * output that is claimed or used meanwhile stays.
 */
export async function purgePostgres(
  database: PostgresDatabase,
  choose: (inventory: PostgresInventory) => DoomedRows,
): Promise<PostgresPurged | StoreFailure> {
  let before: PostgresPurged | undefined;
  return database.use((connection) =>
    connection.inTransaction(async () => {
      const purged = await remove(connection, {
        database,
        doomed: choose(await inventory(connection, database)),
      });
      // Everything is gone already where the answer to a first commit was lost.
      if (before !== undefined && purged.logs + purged.records + purged.outputs === 0) return before;
      before = purged;
      return purged;
    }),
  );
}

async function inventory(connection: Connection, { table }: PostgresDatabase): Promise<PostgresInventory> {
  const [journals, entries, spills] = [table("journals"), table("journal_entries"), table("spills")];
  const logs = await connection.rows<Omit<InventoryLog, "handles">>(
    `select session as "sessionId", coalesce(sum(octet_length(value)), 0)::float8 as bytes,
      ${MS("coalesce(max(stored_at), started_at)")} as "writtenAtMs"
    from ${journals} left join ${entries} using (key) group by key order by session`,
    [],
  );
  const named = await connection.rows<{ readonly sessionId: string; readonly handle: string }>(
    `select distinct session as "sessionId", name[1] as handle
    from ${journals} join ${entries} using (key), regexp_matches(value, '\\m[0-9a-f]{64}\\M', 'g') as name
    where exists (select from ${spills} where sha256 = decode(name[1], 'hex'))`,
    [],
  );
  const handles = new Map<string, string[]>();
  for (const { sessionId, handle } of named) {
    const list = handles.get(sessionId);
    if (list === undefined) handles.set(sessionId, [handle]);
    else list.push(handle);
  }
  const claims = await connection.rows<OutputClaim>(
    `select encode(sha256, 'hex') as handle, claimant from ${table("spill_claims")}`,
    [],
  );
  const outputs = await connection.rows<InventoryOutput>(
    `select encode(sha256, 'hex') as handle, bytes::float8 as bytes, ${MS("used_at")} as "usedAtMs" from ${spills}`,
    [],
  );
  return {
    logs: logs.map(({ sessionId, ...log }) => ({
      ...log,
      sessionId: originalText(sessionId),
      handles: handles.get(sessionId) ?? [],
    })),
    records: await recordsBelow(connection, { table: table("records"), prefix: "" }),
    outputs,
    claims: claims.map(({ handle, claimant }) => ({ handle, claimant: originalText(claimant) })),
  };
}

interface Removing {
  readonly database: PostgresDatabase;
  readonly doomed: DoomedRows;
}

async function remove(
  connection: Connection,
  { database: { table }, doomed }: Removing,
): Promise<PostgresPurged> {
  const sessions = doomed.sessions.map(storableText);
  const spills = table("spills");
  const claims = table("spill_claims");
  const logs = await connection.rows<Sized>(
    `with gone as (delete from ${table("journals")} where session = any($1) returning key)
    select coalesce(sum(octet_length(value)), 0)::float8 as bytes
    from gone left join ${table("journal_entries")} using (key) group by key`,
    [sessions],
  );
  await connection.rows(`delete from ${claims} where claimant = any($1)`, [sessions]);
  const records = await connection.rows<Sized>(
    `with doomed as (
      select * from unnest($1::text[], $2::text[], $3::bigint[]) as given (scope, id, version)
    )
    delete from ${table("records")} as record using doomed
    where record.scope = doomed.scope and record.id = doomed.id and record.version = doomed.version
    returning coalesce(octet_length(record.value), 0)::float8 as bytes`,
    [
      doomed.records.map(({ scope }) => storableText(scope)),
      doomed.records.map(({ id }) => storableText(id)),
      doomed.records.map(({ version }) => version),
    ],
  );
  const hashes = doomed.outputs.map((handle) => Buffer.from(handle, "hex"));
  // Whoever is claiming one has it locked: after this wait every claim can be seen.
  await connection.rows(`select from ${spills} where sha256 = any($1) order by sha256 for update`, [hashes]);
  const outputs = await connection.rows<Sized>(
    `delete from ${spills} as spill where sha256 = any($1)
      and used_at <= now() - $2 * interval '1 millisecond'
      and not exists (select from ${claims} as claim where claim.sha256 = spill.sha256)
    returning bytes::float8 as bytes`,
    [hashes, doomed.minAgeMs],
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
