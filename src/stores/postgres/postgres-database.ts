import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFailure } from "../files/store-failure.ts";
import { createGate } from "./gate.ts";
import { createLoadPg } from "./load-pg.ts";
import { migrate, quoteSchema } from "./migrate.ts";
import { isAway, isPassing, isSettingRefused, postgresFailure } from "./postgres-failure.ts";
import {
  type LoadPg,
  openPool,
  type PoolSettings,
  type PostgresClient,
  type PostgresPool,
} from "./postgres-pool.ts";
import { createRedactConnection } from "./redact-connection.ts";

/** A PostgreSQL server as the stores see it: reached when first needed, migrated, tried again while it is away. */
export interface PostgresDatabase {
  /** Puts the schema in front of a table's name. */
  table(name: string): string;
  /**
   * Does a job on one connection. A job may be done twice, since a lost connection does not tell whether the last
   * statement counted: doing it again must change nothing more. Never throws: what does not work is a value.
   */
  use<Result>(job: (connection: Connection) => Promise<Result>): Promise<Result | StoreFailure>;
  /** The server's time in milliseconds, the same on every machine that uses it; this machine's until a first answer. */
  now(): number;
  close(): Promise<void>;
}

export interface Connection {
  rows<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Several statements of which all count or none. */
  inTransaction<Result>(job: () => Promise<Result>): Promise<Result>;
}

export interface PostgresDatabaseOptions {
  /** Such as `postgres://user:password@host/database`; never in a log or an error. */
  readonly connectionString?: string;
  /** A pool of yours instead, with your time-outs; it stays open on `close`. */
  readonly pool?: PostgresPool;
  /** Default `carryover`. */
  readonly schema?: string;
  /** Connections at a time; default 4. */
  readonly maxConnections?: number;
  /** After which the server gives up a statement; default 30 s. */
  readonly statementTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** How long a job is tried again while the server is away; default 5 s. */
  readonly retryMs?: number;
  /** How the package `pg` is loaded; by its name when unset. */
  readonly load?: LoadPg;
  readonly clock?: DatabaseClock;
}

/** Where time comes from; a test gives its own. */
export interface DatabaseClock {
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

export function createPostgresDatabase(options: PostgresDatabaseOptions): PostgresDatabase {
  const {
    maxConnections = 4,
    statementTimeoutMs = 30_000,
    connectTimeoutMs = 5_000,
    retryMs = 5_000,
  } = options;
  const { clock = SYSTEM_CLOCK } = options;
  const schema = quoteSchema(options.schema ?? "carryover");
  const redact = createRedactConnection(options.connectionString);
  const gate = createGate(maxConnections);
  const greeted = new WeakSet<PostgresClient>();
  let opening: Opening | undefined;
  let migrating: Promise<void> | undefined;
  let offsetMs = 0;
  let restUntilMs = Number.NEGATIVE_INFINITY;
  let restMs = FIRST_REST_MS;
  let lastFailure: StoreFailure | undefined;
  let isClosed = false;

  async function open(limits: PoolSettings["limits"]): Promise<PostgresPool> {
    const { pool, connectionString } = options;
    if (pool === undefined && connectionString === undefined)
      throw coded("NO_DATABASE", "Give a connectionString or a pool.");
    const opened =
      pool === undefined
        ? await openPool(
            {
              connectionString: connectionString ?? "",
              maxConnections,
              statementTimeoutMs,
              connectTimeoutMs,
              limits,
            },
            options.load ?? createLoadPg(),
          )
        : { status: "open" as const, pool };
    if (opened.status === "failed") throw coded(opened.code, opened.reason);
    listenTo(opened.pool);
    return opened.pool;
  }

  /** A pooler between us and the server may refuse our time limits: it is then asked without them. */
  async function connect(limits: PoolSettings["limits"] = "of-server"): Promise<PostgresClient> {
    opening ??= { pool: open(limits), limits };
    const used = opening;
    const pool = await used.pool.catch((error: unknown) => {
      if (opening === used) opening = undefined;
      throw error;
    });
    return pool.connect().catch((error: unknown) => {
      if (used.limits === "none" || options.pool !== undefined || !isSettingRefused(error)) throw error;
      if (opening === used) {
        opening = undefined;
        void pool.end().catch(ignore);
      }
      return connect("none");
    });
  }

  /** The first words on a connection: what time it is, and whether the tables are there. */
  async function greet(client: PostgresClient): Promise<void> {
    if (!greeted.has(client)) {
      const askedMs = clock.now();
      const { rows } = await client.query({
        text: SERVER_TIME,
        values: [],
        query_timeout: statementTimeoutMs,
      });
      offsetMs = (rows[0] as { readonly now: number }).now - (askedMs + clock.now()) / 2;
      greeted.add(client);
    }
    migrating ??= migrate(client, { schema });
    const started = migrating;
    await started.catch((error: unknown) => {
      if (migrating === started) migrating = undefined;
      throw error;
    });
  }

  async function attempt<Result>(job: (connection: Connection) => Promise<Result>): Promise<Result> {
    const client = await connect();
    // One that was connected before this store came to its pool.
    listenToClient(client);
    let failure: Error | undefined;
    try {
      await greet(client);
      return await job(connectionOf(client, statementTimeoutMs));
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      // One on which something failed may be in the middle of a transaction or an answer: it is not used again.
      client.release(failure);
    }
  }

  async function persist<Result>(
    job: (connection: Connection) => Promise<Result>,
  ): Promise<Result | StoreFailure> {
    // A server that is known to be away is asked once, so that nobody waits long for the same answer again.
    const giveUpAtMs = lastFailure === undefined ? clock.now() + retryMs : Number.NEGATIVE_INFINITY;
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      if (isClosed) return CLOSED;
      if (lastFailure !== undefined && clock.now() < restUntilMs) return lastFailure;
      try {
        const result = await attempt(job);
        lastFailure = undefined;
        restMs = FIRST_REST_MS;
        return result;
      } catch (error) {
        const failure = postgresFailure(error, redact);
        if (MISSING_TABLES.has(failure.code)) migrating = undefined;
        // Whoever says no is there.
        if (!isAway(failure)) lastFailure = undefined;
        if (!isPassing(failure)) return failure;
        if (clock.now() + delayMs > giveUpAtMs) {
          if (isAway(failure)) rest(failure);
          return failure;
        }
      }
      await clock.sleep(delayMs * (0.5 + Math.random() / 2));
    }
  }

  /** For a while everybody is told at once that the server is away, for longer each time. */
  function rest(failure: StoreFailure): void {
    lastFailure = failure;
    restUntilMs = clock.now() + restMs;
    restMs = Math.min(2 * restMs, MAX_REST_MS);
  }

  return {
    table: (name) => `${schema}.${name}`,
    use: (job) => gate(() => persist(job)),
    now: () => Math.round(clock.now() + offsetMs),
    async close() {
      isClosed = true;
      const pool = await opening?.pool.catch(() => undefined);
      if (options.pool === undefined) await pool?.end().catch(ignore);
    },
  };
}

interface Opening {
  readonly pool: Promise<PostgresPool>;
  readonly limits: PoolSettings["limits"];
}

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;
const FIRST_REST_MS = 1_000;
const MAX_REST_MS = 10_000;

const SERVER_TIME = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

const CLOSED: StoreFailure = { status: "failed", code: "CLOSED", reason: "The store was closed." };

/** Somebody has dropped the schema: it is made again. */
const MISSING_TABLES: ReadonlySet<string> = new Set(["42P01", "3F000"]);

const SYSTEM_CLOCK: DatabaseClock = { now: Date.now, sleep };

function ignore(): void {}

/**
 * A lost connection is also told by an event, which would end the program if nobody listened. From its first moment, since
 * a server may go down in the same breath in which it lets us in, and for good, since it may speak once more on one that
 * was given up. Once, since several stores may share a pool.
 */
function listenTo(pool: PostgresPool): void {
  if (listened.has(pool)) return;
  listened.add(pool);
  pool.on("error", ignore);
  pool.on("connect", listenToClient);
}

function listenToClient(client: PostgresClient): void {
  if (listened.has(client)) return;
  listened.add(client);
  client.on("error", ignore);
}

const listened = new WeakSet<PostgresPool | PostgresClient>();

function coded(code: string, reason: string): Error {
  return Object.assign(new Error(reason), { code });
}

function connectionOf(client: PostgresClient, statementTimeoutMs: number): Connection {
  const rows = async <Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> => {
    // Beyond the server's own limit: for one that does not answer at all.
    const answer = await client.query({ text, values, query_timeout: 2 * statementTimeoutMs });
    return answer.rows as readonly Row[];
  };
  return {
    rows,
    async inTransaction(job) {
      await rows("begin", []);
      const result = await job();
      await rows("commit", []);
      return result;
    },
  };
}
