import { errorWithCode, failureOf, type StoreFailure } from "../../text/failure.ts";
import type { PostgresDatabase } from "./database.ts";

/** Removes outputs that are too old or too many, least recently used first, but never a claimed or a recent one. */
export async function cleanPostgresOutputs(
  database: PostgresDatabase,
  limits: PostgresOutputLimits = {},
): Promise<PostgresCleanReport | StoreFailure> {
  const { maxAgeMs = POSTGRES_OUTPUT_LIMITS.maxAgeMs, maxBytes = POSTGRES_OUTPUT_LIMITS.maxBytes } = limits;
  const { minAgeMs = 60_000 } = limits;
  const outputs = database.table("outputs");
  const deleteOldest = DELETE_OLDEST(outputs, database.table("output_claims"));
  const removed = { outputs: 0, bytes: 0 };

  const sizeText = `select count(*)::float8 as outputs, coalesce(sum(bytes), 0)::float8 as bytes from ${outputs}`;
  // In slices, each a call of its own: so rows are not locked for long, and a great many need not go in the time of one.
  const rowsOf = async <Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> => {
    const rows = await database.use((connection) => connection.rows<Row>(text, values));
    if ("status" in rows) throw errorWithCode(rows.code, rows.reason);
    return rows;
  };
  const removeOldest = async (ageMs: number, excessBytes: number): Promise<number> => {
    const rows = await rowsOf<{ readonly bytes: number }>(deleteOldest, [ageMs, excessBytes]);
    removed.outputs += rows.length;
    removed.bytes += rows.reduce((sum, row) => sum + row.bytes, 0);
    return rows.length;
  };
  const size = async (): Promise<KeptOutputs> =>
    (await rowsOf<KeptOutputs>(sizeText, []))[0] ?? { outputs: 0, bytes: 0 };
  try {
    while ((await removeOldest(Math.max(maxAgeMs, minAgeMs), Number.MAX_SAFE_INTEGER)) > 0);
    let kept = await size();
    while (kept.bytes > maxBytes) {
      if ((await removeOldest(minAgeMs, kept.bytes - maxBytes)) === 0) break;
      kept = await size();
    }
    await rowsOf(DELETE_TOMBSTONES(database.table("records")), [TOMBSTONE_DAYS]);
    return {
      status: "cleaned",
      removedOutputs: removed.outputs,
      removedBytes: removed.bytes,
      keptOutputs: kept.outputs,
      keptBytes: kept.bytes,
    };
  } catch (error) {
    return failureOf(error);
  }
}

/** How much of the unclaimed outputs is kept. */
export interface PostgresOutputLimits {
  /** How long an output is kept after its last use. @default 14 days */
  readonly maxAgeMs?: number;
  /** How much is kept in all. @default 16 GiB */
  readonly maxBytes?: number;
  /** Outputs used more recently are always kept, since their reference may not be stored yet. @default 1 minute */
  readonly minAgeMs?: number;
}

/** The outcome of a cleaning. */
export interface PostgresCleanReport {
  readonly status: "cleaned";
  readonly removedOutputs: number;
  readonly removedBytes: number;
  readonly keptOutputs: number;
  readonly keptBytes: number;
}

/** True for one caller an hour, of all machines. */
export async function isCleaningDue(database: PostgresDatabase): Promise<boolean> {
  const cleanings = database.table("cleanings");
  const text = `
    insert into ${cleanings} as last (kind, started_at) values ('outputs', now())
    on conflict (kind) do update set started_at = now() where last.started_at < now() - interval '1 hour'
    returning kind`;
  const rows = await database.use((connection) => connection.rows(text, []));
  return !("status" in rows) && rows.length > 0;
}

/** How long and how much is kept where nothing is said. */
export const POSTGRES_OUTPUT_LIMITS: Required<Pick<PostgresOutputLimits, "maxAgeMs" | "maxBytes">> = {
  maxAgeMs: 14 * 86_400_000,
  maxBytes: 16 * 2 ** 30,
};

/** How long tombstones of records are kept; no process remembers an older version. */
const TOMBSTONE_DAYS = 30;

const SLICE_OUTPUTS = 500;

interface KeptOutputs {
  readonly outputs: number;
  readonly bytes: number;
}

/**
 * Deletes the oldest unclaimed outputs until enough bytes are freed. A concurrent put or get changes `used_at`, which is
 * checked again; a concurrent claim makes the statement fail by its foreign key.
 */
const DELETE_OLDEST = (outputs: string, claims: string): string => `
  delete from ${outputs} as stored using (
    select sha256, sum(bytes) over (order by used_at, sha256) - bytes as before from (
      select sha256, bytes, used_at from ${outputs} as candidate
      where used_at < now() - $1 * interval '1 millisecond'
        and not exists (select from ${claims} as claim where claim.sha256 = candidate.sha256)
      order by used_at limit ${SLICE_OUTPUTS}
    ) as oldest
  ) as chosen
  where stored.sha256 = chosen.sha256 and chosen.before < $2
    and stored.used_at < now() - $1 * interval '1 millisecond'
  returning stored.bytes::float8 as bytes`;

const DELETE_TOMBSTONES = (records: string): string =>
  `delete from ${records} where value is null and stored_at < now() - $1 * interval '1 day'`;
