import { errorWithCode } from "../store-failure.ts";
import type { PostgresClient } from "./pool.ts";

/** Migrates the schema in one transaction under an advisory lock, so that several processes can start at once; throws the server's errors. */
export async function migrate(
  client: PostgresClient,
  { schema, migrations = MIGRATIONS }: MigrateOptions,
): Promise<void> {
  if ((await versionOf(client, schema)) >= migrations.length) return;
  await checkEncoding(client);
  await client.query({ text: "begin", values: [] });
  await client.query({
    text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
    values: [`carryover schema ${schema}`],
  });
  // Checked first, since only the owner of the database may run `create schema`, even for one that exists.
  if (!(await schemaExists(client, schema)))
    await client.query({ text: `create schema ${schema}`, values: [] });
  await client.query({
    text: `create table if not exists ${schema}.migrations (version integer primary key, applied_at timestamptz not null default now())`,
    values: [],
  });
  const present = await versionOf(client, schema);
  for (const [index, migration] of migrations.entries()) {
    if (index < present) continue;
    await client.query({ text: migration(schema), values: [] });
    await client.query({
      text: `insert into ${schema}.migrations (version) values ($1)`,
      values: [index + 1],
    });
  }
  await client.query({ text: "commit", values: [] });
}

interface MigrateOptions {
  /** Quoted for use in a statement. */
  readonly schema: string;
  /** Ours when unset. */
  readonly migrations?: readonly Migration[];
}

/** Quotes the name of a schema. */
export function quoteSchema(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

async function versionOf(client: PostgresClient, schema: string): Promise<number> {
  const { rows: found } = await client.query({
    text: `select exists (
      select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where relname = 'migrations' and ${QUOTED_NAME} = $1) as yes`,
    values: [schema],
  });
  if (!isYes(found)) return 0;
  const { rows } = await client.query({
    text: `select coalesce(max(version), 0)::float8 as version from ${schema}.migrations`,
    values: [],
  });
  return (rows[0] as { readonly version: number }).version;
}

async function schemaExists(client: PostgresClient, schema: string): Promise<boolean> {
  const { rows } = await client.query({
    text: `select exists (select from pg_namespace where ${QUOTED_NAME} = $1) as yes`,
    values: [schema],
  });
  return isYes(rows);
}

/**
 * The catalog is queried, not `to_regnamespace`: a connection caches that a name does not exist, and within a transaction
 * that cache is used even if another process has created the schema while this one waited for the lock.
 */
const QUOTED_NAME = `'"' || replace(nspname, '"', '""') || '"'`;

/** In another encoding than UTF-8 some texts cannot be stored, or are changed. */
async function checkEncoding(client: PostgresClient): Promise<void> {
  const { rows } = await client.query({
    text: "select current_setting('server_encoding') as encoding",
    values: [],
  });
  const { encoding } = rows[0] as { readonly encoding: string };
  if (encoding === "UTF8") return;
  const reason = `The database is encoded as ${encoding}; make one with: create database carryover encoding 'UTF8' template template0`;
  throw errorWithCode("BAD_ENCODING", reason);
}

function isYes(rows: readonly unknown[]): boolean {
  return (rows[0] as { readonly yes: boolean } | undefined)?.yes === true;
}

/**
 * The migrations, one for each version of the schema. They only add, and are never changed after a release, since the
 * machines of a fleet are updated one by one and older programs must work with the newer schema.
 */
export const MIGRATIONS: readonly Migration[] = [
  (schema) => `
    create table ${schema}.spills (
      sha256 bytea primary key,
      bytes bigint not null,
      content bytea,
      stored_at timestamptz not null default now(),
      used_at timestamptz not null default now()
    );
    create index spills_used_at on ${schema}.spills (used_at);
    create table ${schema}.spill_pieces (
      sha256 bytea not null references ${schema}.spills on delete cascade,
      number integer not null,
      content bytea not null,
      primary key (sha256, number)
    );
    create table ${schema}.spill_claims (
      sha256 bytea not null references ${schema}.spills,
      claimant text not null,
      primary key (sha256, claimant)
    );
    create index spill_claims_claimant on ${schema}.spill_claims (claimant);
    create table ${schema}.journals (
      key bytea primary key,
      session text not null,
      started_at timestamptz not null default now()
    );
    create table ${schema}.journal_entries (
      key bytea not null references ${schema}.journals on delete cascade,
      sequence bigint not null,
      writer uuid not null,
      value text not null,
      stored_at timestamptz not null default now(),
      primary key (key, sequence, writer)
    );
    create table ${schema}.records (
      scope text not null,
      key bytea not null,
      id text not null,
      version bigint not null,
      value text,
      write_id uuid not null,
      stored_at timestamptz not null default now(),
      primary key (scope, key)
    );
    create table ${schema}.cleanings (
      kind text primary key,
      started_at timestamptz not null
    );
  `,
];

/** The statements of one version, for a schema. */
export type Migration = (schema: string) => string;
