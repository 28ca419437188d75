import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { StoreFailure } from "../../text/failure.ts";
import { asObject } from "../../text/unknown-value.ts";
import { isSettingRefused, isTransient, isUnreachable, postgresFailure } from "./failures.ts";
import { migrate, quoteSchema } from "./migrate.ts";
import {
  createLoadPg,
  type LoadPg,
  openPool,
  type PoolSettings,
  type PostgresClient,
  type PostgresPool,
  type Statement,
} from "./pool.ts";
import { createRedactConnection } from "./redact-connection.ts";

/**
 * Access to a PostgreSQL server: connects when first used, migrates the schema, retries while the server is unreachable. No
 * call takes longer than `timeoutMs`, whatever the network does, and none leaves anything behind that stops the next.
 */
export interface PostgresDatabase {
  /** The name of a table with its schema. */
  table(name: string): string;
  /**
   * Runs a job on one connection. A job must be idempotent: it may be run twice, since after a lost connection it is
   * unknown whether the last statement was executed. Never throws; a failure is a value.
   */
  use<Result>(job: Job<Result>): Promise<Result | StoreFailure>;
  /** What a promise gives within the time that a call may take, or else the failure TIMEOUT. */
  inTime<Result>(result: Promise<Result>): Promise<Result | StoreFailure>;
  /** The server's time in milliseconds; this machine's until the first connection. */
  now(): number;
  close(): Promise<void>;
}

/** One connection, for the duration of a job. */
export interface Connection {
  /** Runs a statement and returns its rows. */
  rows<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs statements in a transaction. */
  inTransaction<Result>(job: () => Promise<Result>): Promise<Result>;
}

/** How a database is reached. */
export interface PostgresDatabaseOptions {
  /** Such as `postgres://user:password@host/database`; redacted in errors. @default none */
  readonly connectionString?: string;
  /** Your own pool instead, with your timeouts; `close` leaves it open. @default one of its own */
  readonly pool?: PostgresPool;
  /** The schema in which the tables are. @default carryover */
  readonly schema?: string;
  /** Maximum number of connections. @default 4 @unit connections */
  readonly maxConnections?: number;
  /**
   * How long a call takes at most: waiting for its turn, connecting, every statement and all retries together.
   * @default 10 s
   */
  readonly timeoutMs?: number;
}

/** What counts where nothing is said. */
export const DATABASE_DEFAULTS: Required<
  Pick<PostgresDatabaseOptions, "schema" | "maxConnections" | "timeoutMs">
> = { schema: "carryover", maxConnections: 4, timeoutMs: 10_000 };

/** The same with what only programs of ours and tests set. */
export interface PostgresDatabaseSettings extends PostgresDatabaseOptions {
  /** Timeout of a statement on the server: three quarters of `timeoutMs` when unset. */
  readonly statementTimeoutMs?: number;
  /** Timeout of a connection attempt: 5 s when unset. */
  readonly connectTimeoutMs?: number;
  /** How long a call is retried while the server is unreachable: 5 s when unset. */
  readonly retryMs?: number;
  /** Loads the package `pg`; `import("pg")` when unset. */
  readonly load?: LoadPg;
  /** Replaces the system clock, for tests. */
  readonly clock?: DatabaseClock;
}

/** The time and a way to wait. */
export interface DatabaseClock {
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

/** A database that is not connected yet. */
export function createPostgresDatabase(options: PostgresDatabaseSettings): PostgresDatabase {
  const {
    schema: schemaName = DATABASE_DEFAULTS.schema,
    maxConnections = DATABASE_DEFAULTS.maxConnections,
    timeoutMs = DATABASE_DEFAULTS.timeoutMs,
    statementTimeoutMs = Math.round(0.75 * timeoutMs),
    connectTimeoutMs = 5_000,
    retryMs = 5_000,
  } = options;
  const { clock = SYSTEM_CLOCK } = options;
  const schema = quoteSchema(schemaName);
  const redact = createRedactConnection(options.connectionString);
  const gate = createConcurrencyLimit(maxConnections);
  const prepared = new WeakSet<PostgresClient>();
  let opening: { readonly pool: Promise<PostgresPool>; readonly limits: PoolSettings["limits"] } | undefined;
  let migrating: Promise<void> | undefined;
  let offsetMs = 0;
  let answeredMs = Number.NEGATIVE_INFINITY;
  let backoffUntilMs = Number.NEGATIVE_INFINITY;
  let backoffMs = MIN_BACKOFF_MS;
  let lastFailure: StoreFailure | undefined;
  let isClosed = false;

  async function open(limits: PoolSettings["limits"]): Promise<PostgresPool> {
    const { pool, connectionString } = options;
    const settings = { maxConnections, statementTimeoutMs, connectTimeoutMs, limits };
    const opened =
      pool ??
      (await openPool(
        { ...settings, connectionString: connectionString ?? "" },
        options.load ?? createLoadPg(),
      ));
    ignoreErrors(opened);
    return opened;
  }

  /** Connects; without timeouts on the server if a pooler refuses them. */
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
        void pool.end().catch(noop);
      }
      return connect("none");
    });
  }

  /** Runs a statement, and learns the server's time where the answer has it. */
  async function query(client: PostgresClient, { text, values }: Statement): Promise<readonly unknown[]> {
    const askedMs = clock.now();
    // Longer than the timeout on the server, for a server that does not respond at all.
    const { rows = [] } = await client.query({ text, values, query_timeout: 2 * statementTimeoutMs });
    answeredMs = performance.now();
    const { serverNowMs } = asObject(rows.at(-1));
    if (typeof serverNowMs === "number") offsetMs = serverNowMs - (askedMs + clock.now()) / 2;
    return rows;
  }

  /** Prepares a connection: reads the server's time once, and migrates the schema. */
  async function prepare(client: PostgresClient): Promise<void> {
    const run = (statement: Statement): Promise<readonly unknown[]> => query(client, statement);
    if (!prepared.has(client)) {
      await run({ text: `select ${SERVER_NOW}`, values: [] });
      prepared.add(client);
    }
    migrating ??= migrate(run, { schema });
    const started = migrating;
    await started.catch((error: unknown) => {
      if (migrating === started) migrating = undefined;
      throw error;
    });
  }

  async function attempt<Result>(job: Job<Result>, limit: AbortSignal): Promise<Result> {
    const client = await connect();
    // The client may be older than this store, if the pool is the caller's.
    ignoreClientErrors(client);
    let isReleased = false;
    // A client with an error may be inside a transaction, so it is not reused.
    const release = (failure?: Error): void => {
      if (!isReleased) client.release(failure);
      isReleased = true;
    };
    // Whatever the connection waits for may never come. A migration that others wait for is begun again by the next.
    const drop = (): void => {
      migrating = undefined;
      release(new Error(OVER));
    };
    if (limit.aborted) release();
    limit.addEventListener("abort", drop);
    try {
      limit.throwIfAborted();
      await prepare(client);
      const result = await job(connectionOf((statement) => query(client, statement), limit));
      release();
      return result;
    } catch (error) {
      release(error instanceof Error ? error : new Error(String(error)));
      throw error;
    } finally {
      limit.removeEventListener("abort", drop);
    }
  }

  async function retry<Result>(job: Job<Result>, limit: AbortSignal): Promise<Result | StoreFailure> {
    // A server that was unreachable before is tried once only, so that callers do not wait again.
    const giveUpAtMs = lastFailure === undefined ? clock.now() + retryMs : Number.NEGATIVE_INFINITY;
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      if (isClosed) return CLOSED;
      if (lastFailure !== undefined && clock.now() < backoffUntilMs) return lastFailure;
      try {
        const result = await attempt(job, limit);
        lastFailure = undefined;
        backoffMs = MIN_BACKOFF_MS;
        return result;
      } catch (error) {
        if (limit.aborted) return timedOut;
        const failure = postgresFailure(error, redact);
        if (MISSING_TABLES.has(failure.code)) migrating = undefined;
        // Any other error comes from a server that can be reached.
        if (!isUnreachable(failure)) lastFailure = undefined;
        if (!isTransient(failure)) return failure;
        if (clock.now() + delayMs > giveUpAtMs) {
          if (isUnreachable(failure)) backOff(failure);
          return failure;
        }
      }
      await clock.sleep(delayMs * (0.5 + Math.random() / 2));
    }
  }

  /** Starts a period, longer each time, in which jobs fail at once without trying. */
  function backOff(failure: StoreFailure): void {
    // Calls that failed together are one failure.
    if (lastFailure !== undefined && clock.now() < backoffUntilMs) return;
    lastFailure = failure;
    backoffUntilMs = clock.now() + backoffMs;
    backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS);
  }

  const timedOut: StoreFailure = {
    status: "failed",
    code: "TIMEOUT",
    reason: `${OVER} (${timeoutMs} ms, the option timeoutMs)`,
  };

  return {
    table: (name) => `${schema}.${name}`,
    async use(job) {
      const limit = startTimeLimit(timeoutMs);
      const leave = await gate(limit.signal);
      // Others took all the time: that says nothing about the server.
      if (leave === undefined) return timedOut;
      const given = limit.over.then(() => {
        // A job that is long, or waits for a lock, says nothing about a server that answers others.
        if (performance.now() - answeredMs >= timeoutMs / 2) backOff(timedOut);
        return timedOut;
      });
      try {
        return await Promise.race([retry(job, limit.signal), given]);
      } finally {
        leave();
        limit.clear();
      }
    },
    async inTime(result) {
      const limit = startTimeLimit(timeoutMs);
      const outcome = await Promise.race([result, limit.over.then(() => timedOut)]);
      limit.clear();
      return outcome;
    },
    now: () => Math.round(clock.now() + offsetMs),
    async close() {
      isClosed = true;
      const pool = await opening?.pool.catch(() => undefined);
      if (options.pool !== undefined || pool === undefined) return;
      const limit = startTimeLimit(timeoutMs);
      await Promise.race([pool.end().catch(noop), limit.over]);
      limit.clear();
    },
  };
}

type Job<Result> = (connection: Connection) => Promise<Result>;

const OVER = "the database gave no answer in time";

/** The end of a call's time, by a timer and not by the clock, which may be set. */
function startTimeLimit(ms: number): TimeLimit {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(), Math.min(ms, MAX_TIMER_MS));
  const over = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return { signal, over, clear: () => clearTimeout(timer) };
}

interface TimeLimit {
  readonly signal: AbortSignal;
  readonly over: Promise<void>;
  clear(): void;
}

/** A timer for longer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;

/** A column by which an answer tells the server's time. */
export const SERVER_NOW = '(extract(epoch from clock_timestamp()) * 1000)::float8 as "serverNowMs"';

const CLOSED: StoreFailure = { status: "failed", code: "CLOSED", reason: "The store was closed." };

/** The schema was dropped and is created again. */
const MISSING_TABLES: ReadonlySet<string> = new Set(["42P01", "3F000"]);

/** Goes on evenly when somebody sets the machine's clock. */
const SYSTEM_CLOCK: DatabaseClock = { now: () => performance.timeOrigin + performance.now(), sleep };

function noop(): void {}

/**
 * Handles the `error` events of a pool and its clients, which would otherwise end the process. Clients are handled from
 * their creation and for good, since an error may come right after connecting or after release. A pool is handled only
 * once, since several stores may share it.
 */
function ignoreErrors(pool: PostgresPool): void {
  if (listened.has(pool)) return;
  listened.add(pool);
  pool.on("error", noop);
  pool.on("connect", ignoreClientErrors);
}

function ignoreClientErrors(client: PostgresClient): void {
  if (listened.has(client)) return;
  listened.add(client);
  client.on("error", noop);
}

const listened = new WeakSet<PostgresPool | PostgresClient>();

function connectionOf(
  query: (statement: Statement) => Promise<readonly unknown[]>,
  limit: AbortSignal,
): Connection {
  const rows = async <Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> => {
    limit.throwIfAborted();
    return (await query({ text, values })) as readonly Row[];
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

/** Lets at most `maxJobs` in at a time, in order; gives a way to leave, or undefined to one whose time is over first. */
function createConcurrencyLimit(maxJobs: number): (limit: AbortSignal) => Promise<(() => void) | undefined> {
  const waiting = new Set<() => void>();
  let running = 0;
  const leave = (): void => {
    // The slot is passed on directly, so that no new job can take it first.
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else {
      waiting.delete(next);
      next();
    }
  };
  return (limit) =>
    new Promise((resolve) => {
      if (running < maxJobs) {
        running += 1;
        resolve(leave);
        return;
      }
      const enter = (): void => resolve(leave);
      waiting.add(enter);
      limit.addEventListener("abort", () => {
        if (waiting.delete(enter)) resolve(undefined);
      });
    });
}

/** Encodes any text, with NUL and lone surrogates, so that PostgreSQL can store it; injective. */
export function storableText(text: string): string {
  return JSON.stringify(text);
}

/** Decodes a text of `storableText`. */
export function originalText(stored: string): string {
  return JSON.parse(stored) as string;
}

/** A key of fixed size for a text of any length, since index entries are limited. */
export function textKey(text: string): Buffer {
  return createHash("sha256").update(storableText(text)).digest();
}
