import { errorWithCode } from "../../text/failure.ts";
import type { Statement } from "./pool.ts";

/** Migrates the schema in one transaction under an advisory lock, so that several processes can start at once; throws the server's errors. */
export async function migrate(
  query: (statement: Statement) => Promise<readonly unknown[]>,
  { schema, migrations = MIGRATIONS }: MigrateOptions,
): Promise<void> {
  const run: Run = (text, values = []) => query({ text, values });
  if ((await versionOf(run, schema)) >= migrations.length) return;
  await checkEncoding(run);
  await run("begin");
  await run("select pg_advisory_xact_lock(hashtextextended($1, 0))", [`carryover schema ${schema}`]);
  // Checked first, since only the owner of the database may run `create schema`, even for one that exists.
  const found = await run(`select exists (select from pg_namespace where ${QUOTED_NAME} = $1) as yes`, [
    schema,
  ]);
  if (!isYes(found)) await run(`create schema ${schema}`);
  await run(
    `create table if not exists ${schema}.migrations (version integer primary key, applied_at timestamptz not null default now())`,
  );
  const present = await versionOf(run, schema);
  for (const [index, migration] of migrations.entries()) {
    if (index < present) continue;
    await run(migration(schema));
    await run(`insert into ${schema}.migrations (version) values ($1)`, [index + 1]);
  }
  await run("commit");
}

/** Runs a statement and gives its rows. */
type Run = (text: string, values?: readonly unknown[]) => Promise<readonly unknown[]>;

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

async function versionOf(run: Run, schema: string): Promise<number> {
  const found = await run(
    `select exists (
      select from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where relname = 'migrations' and ${QUOTED_NAME} = $1) as yes`,
    [schema],
  );
  if (!isYes(found)) return 0;
  const rows = await run(`select coalesce(max(version), 0)::float8 as version from ${schema}.migrations`);
  return (rows[0] as { readonly version: number }).version;
}

/**
 * The catalog is queried, not `to_regnamespace`: a connection caches that a name does not exist, and within a transaction
 * that cache is used even if another process has created the schema while this one waited for the lock.
 */
const QUOTED_NAME = `'"' || replace(nspname, '"', '""') || '"'`;

/** In another encoding than UTF-8 some texts cannot be stored, or are changed. */
async function checkEncoding(run: Run): Promise<void> {
  const rows = await run("select current_setting('server_encoding') as encoding");
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
    create table ${schema}.outputs (
      sha256 bytea primary key,
      bytes bigint not null,
      content bytea,
      stored_at timestamptz not null default now(),
      used_at timestamptz not null default now()
    );
    create index outputs_used_at on ${schema}.outputs (used_at);
    create table ${schema}.output_pieces (
      sha256 bytea not null references ${schema}.outputs on delete cascade,
      number integer not null,
      content bytea not null,
      primary key (sha256, number)
    );
    create table ${schema}.output_claims (
      sha256 bytea not null references ${schema}.outputs,
      claimant text not null,
      primary key (sha256, claimant)
    );
    create index output_claims_claimant on ${schema}.output_claims (claimant);
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
