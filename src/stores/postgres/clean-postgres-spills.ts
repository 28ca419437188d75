import type { StoreFailure } from "../files/store-failure.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";

/** Removes spilled outputs that are too old or too many, least recently used first, and never one that somebody claims or has just used. */
export async function cleanPostgresSpills(
  database: PostgresDatabase,
  limits: PostgresSpillLimits = {},
): Promise<PostgresCleanReport | StoreFailure> {
  const { maxAgeMs = 14 * DAY_MS, maxBytes = 16 * 2 ** 30, minAgeMs = 60_000 } = limits;
  const spills = database.table("spills");
  const removed = { outputs: 0, bytes: 0 };

  async function removeOldest(connection: Connection, { ageMs, excessBytes }: Slice): Promise<number> {
    const text = REMOVE({ spills, claims: database.table("spill_claims") });
    const rows = await connection.rows<{ readonly bytes: number }>(text, [ageMs, excessBytes]);
    removed.outputs += rows.length;
    removed.bytes += rows.reduce((sum, row) => sum + row.bytes, 0);
    return rows.length;
  }

  async function size(connection: Connection): Promise<KeptOutputs> {
    const text = `select count(*)::float8 as outputs, coalesce(sum(bytes), 0)::float8 as bytes from ${spills}`;
    const [row] = await connection.rows<KeptOutputs>(text, []);
    return row ?? { outputs: 0, bytes: 0 };
  }

  // Slices, each a statement of its own: nobody waits long for a row, and what was done stays done.
  return database.use(async (connection) => {
    while (
      (await removeOldest(connection, {
        ageMs: Math.max(maxAgeMs, minAgeMs),
        excessBytes: Number.MAX_SAFE_INTEGER,
      })) > 0
    );
    let kept = await size(connection);
    while (kept.bytes > maxBytes) {
      const slice = { ageMs: minAgeMs, excessBytes: kept.bytes - maxBytes };
      if ((await removeOldest(connection, slice)) === 0) break;
      kept = await size(connection);
    }
    await connection.rows(FORGET(database.table("records")), [FORGOTTEN_DAYS]);
    return {
      status: "cleaned",
      removedOutputs: removed.outputs,
      removedBytes: removed.bytes,
      keptOutputs: kept.outputs,
      keptBytes: kept.bytes,
    } as const;
  });
}

/** How much may be kept of what nobody claims. */
export interface PostgresSpillLimits {
  /** Since last use; default 14 days. */
  readonly maxAgeMs?: number;
  /** Default 16 GiB. */
  readonly maxBytes?: number;
  /** Outputs used more recently are kept whatever the limits, since their reference may not be stored yet; default 1 minute. */
  readonly minAgeMs?: number;
}

/** What a cleaning did. */
export interface PostgresCleanReport {
  readonly status: "cleaned";
  readonly removedOutputs: number;
  readonly removedBytes: number;
  readonly keptOutputs: number;
  readonly keptBytes: number;
}

/** True for one caller in an hour, whichever machine it is on. */
export async function isCleaningDue(database: PostgresDatabase): Promise<boolean> {
  const cleanings = database.table("cleanings");
  const text = `
    insert into ${cleanings} as last (kind, started_at) values ('spills', now())
    on conflict (kind) do update set started_at = now() where last.started_at < now() - interval '1 hour'
    returning kind`;
  const rows = await database.use((connection) => connection.rows(text, []));
  return !("status" in rows) && rows.length > 0;
}

const DAY_MS = 86_400_000;
/** What a deleted record leaves is kept so long: no instance knows an older version. */
const FORGOTTEN_DAYS = 30;
const SLICE_OUTPUTS = 500;

interface Slice {
  readonly ageMs: number;
  readonly excessBytes: number;
}

interface KeptOutputs {
  readonly outputs: number;
  readonly bytes: number;
}

/**
 * The oldest that nobody claims, until so many bytes are gone. A put or a get that comes in between changes `used_at`, and
 * the condition is then looked at again; a claim that comes in between makes the whole statement fail by its foreign key.
 */
const REMOVE = ({ spills, claims }: { readonly spills: string; readonly claims: string }): string => `
  delete from ${spills} as spill using (
    select sha256, sum(bytes) over (order by used_at, sha256) - bytes as before from (
      select sha256, bytes, used_at from ${spills} as candidate
      where used_at < now() - $1 * interval '1 millisecond'
        and not exists (select from ${claims} as claim where claim.sha256 = candidate.sha256)
      order by used_at limit ${SLICE_OUTPUTS}
    ) as oldest
  ) as chosen
  where spill.sha256 = chosen.sha256 and chosen.before < $2
    and spill.used_at < now() - $1 * interval '1 millisecond'
  returning spill.bytes::float8 as bytes`;

const FORGET = (records: string): string =>
  `delete from ${records} where value is null and stored_at < now() - $1 * interval '1 day'`;
