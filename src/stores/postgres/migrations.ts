/**
 * What makes the schema, one step a version, never changed once released. A step only adds: a fleet is updated machine by
 * machine, and the older program goes on with the newer schema.
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

export type Migration = (schema: string) => string;
