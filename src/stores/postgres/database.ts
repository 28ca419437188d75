import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, type StoreFailure } from "../store-failure.ts";
import { migrate, quoteSchema } from "./migrate.ts";
import {
  createLoadPg,
  createRedactConnection,
  type LoadPg,
  openPool,
  type PoolSettings,
  type PostgresClient,
  type PostgresPool,
} from "./pool.ts";

/** Access to a PostgreSQL server: connects when first used, migrates the schema, retries while the server is unreachable. */
export interface PostgresDatabase {
  /** The name of a table with its schema. */
  table(name: string): string;
  /**
   * Runs a job on one connection. A job must be idempotent: it may be run twice, since after a lost connection it is
   * unknown whether the last statement was executed. Never throws; a failure is a value.
   */
  use<Result>(job: (connection: Connection) => Promise<Result>): Promise<Result | StoreFailure>;
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
  /** Maximum number of connections. @default 4 */
  readonly maxConnections?: number;
  /** Timeout of a statement on the server. @default 30 s */
  readonly statementTimeoutMs?: number;
  /** Timeout of a connection attempt. @default 5 s */
  readonly connectTimeoutMs?: number;
  /** How long a job is retried while the server is unreachable. @default 5 s */
  readonly retryMs?: number;
  /** Loads the package `pg`; `import("pg")` when unset. @default import("pg") */
  readonly load?: LoadPg;
  /** Replaces the system clock, for tests. @default the system's */
  readonly clock?: DatabaseClock;
}

/** The time and a way to wait. */
export interface DatabaseClock {
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

/** A database that is not connected yet. */
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
  const gate = createConcurrencyLimit(maxConnections);
  const prepared = new WeakSet<PostgresClient>();
  let opening: { readonly pool: Promise<PostgresPool>; readonly limits: PoolSettings["limits"] } | undefined;
  let migrating: Promise<void> | undefined;
  let offsetMs = 0;
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

  /** Prepares a connection: reads the server's time once, and migrates the schema. */
  async function prepare(client: PostgresClient): Promise<void> {
    if (!prepared.has(client)) {
      const askedMs = clock.now();
      const { rows } = await client.query({
        text: SERVER_TIME,
        values: [],
        query_timeout: statementTimeoutMs,
      });
      offsetMs = (rows[0] as { readonly now: number }).now - (askedMs + clock.now()) / 2;
      prepared.add(client);
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
    // The client may be older than this store, if the pool is the caller's.
    ignoreClientErrors(client);
    let failure: Error | undefined;
    try {
      await prepare(client);
      return await job(connectionOf(client, statementTimeoutMs));
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw error;
    } finally {
      // A client with an error may be inside a transaction, so it is not reused.
      client.release(failure);
    }
  }

  async function retry<Result>(
    job: (connection: Connection) => Promise<Result>,
  ): Promise<Result | StoreFailure> {
    // A server that was unreachable before is tried once only, so that callers do not wait again.
    const giveUpAtMs = lastFailure === undefined ? clock.now() + retryMs : Number.NEGATIVE_INFINITY;
    for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      if (isClosed) return CLOSED;
      if (lastFailure !== undefined && clock.now() < backoffUntilMs) return lastFailure;
      try {
        const result = await attempt(job);
        lastFailure = undefined;
        backoffMs = MIN_BACKOFF_MS;
        return result;
      } catch (error) {
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
    lastFailure = failure;
    backoffUntilMs = clock.now() + backoffMs;
    backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS);
  }

  return {
    table: (name) => `${schema}.${name}`,
    use: (job) => gate(() => retry(job)),
    now: () => Math.round(clock.now() + offsetMs),
    async close() {
      isClosed = true;
      const pool = await opening?.pool.catch(() => undefined);
      if (options.pool === undefined) await pool?.end().catch(noop);
    },
  };
}

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;

const SERVER_TIME = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

const CLOSED: StoreFailure = { status: "failed", code: "CLOSED", reason: "The store was closed." };

/** The schema was dropped and is created again. */
const MISSING_TABLES: ReadonlySet<string> = new Set(["42P01", "3F000"]);

const SYSTEM_CLOCK: DatabaseClock = { now: Date.now, sleep };

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

function connectionOf(client: PostgresClient, statementTimeoutMs: number): Connection {
  const rows = async <Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> => {
    // Longer than the timeout on the server, for a server that does not respond at all.
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

/** Runs at most `maxJobs` jobs at a time; the others wait in order. */
function createConcurrencyLimit(maxJobs: number): <Result>(job: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (job) => {
    if (running >= maxJobs) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await job();
    } finally {
      // The slot is passed on directly, so that no new job can take it first.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Converts a thrown value into a failure with PostgreSQL's or the system's code, and redacts passwords. */
function postgresFailure(error: unknown, redact: (text: string) => string): StoreFailure {
  const message = error instanceof Error ? error.message : "not an error object";
  // If all addresses of a host refuse, the error has no message of its own.
  const inner =
    error instanceof AggregateError ? error.errors.find((each) => codeOf(each) !== undefined) : undefined;
  const reason = message || (inner instanceof Error ? inner.message : "") || "the server cannot be reached";
  const code = codeOf(error) ?? codeOf(inner) ?? (isConnectionLost(message) ? "CONNECTION_LOST" : "UNKNOWN");
  return { status: "failed", code, reason: redact(reason) };
}

/** True if a retry may succeed: the server is unreachable, or the transaction conflicted with another. */
function isTransient({ code }: StoreFailure): boolean {
  return TRANSIENT_CODES.has(code) || code.startsWith("08");
}

/** True if the server cannot be reached. */
function isUnreachable(failure: StoreFailure): boolean {
  return isTransient(failure) && !CONFLICT_CODES.has(failure.code);
}

/** True if a pooler refuses settings of the connection. */
function isSettingRefused(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message);
}

/** Serialization failure and deadlock. */
const CONFLICT_CODES: ReadonlySet<string> = new Set(["40001", "40P01"]);

const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  ...CONFLICT_CODES,
  // Shutdown, crash, startup, too many connections.
  "57P01",
  "57P02",
  "57P03",
  "53300",
  "CONNECTION_LOST",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  // No socket file while the server restarts.
  "ENOENT",
]);

// Errors of the driver without a code.
function isConnectionLost(message: string): boolean {
  return /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|client was closed/i.test(
    message,
  );
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
