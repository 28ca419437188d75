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
  const gate = createConcurrencyLimit(maxConnections);
  const greeted = new WeakSet<PostgresClient>();
  let opening: Opening | undefined;
  let migrating: Promise<void> | undefined;
  let offsetMs = 0;
  let restUntilMs = Number.NEGATIVE_INFINITY;
  let restMs = MIN_BACKOFF_MS;
  let lastFailure: StoreFailure | undefined;
  let isClosed = false;

  async function open(limits: PoolSettings["limits"]): Promise<PostgresPool> {
    const { pool, connectionString } = options;
    if (pool === undefined && connectionString === undefined)
      throw errorWithCode("NO_DATABASE", "Give a connectionString or a pool.");
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
    if (opened.status === "failed") throw errorWithCode(opened.code, opened.reason);
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
        void pool.end().catch(noop);
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
        restMs = MIN_BACKOFF_MS;
        return result;
      } catch (error) {
        const failure = postgresFailure(error, redact);
        if (MISSING_TABLES.has(failure.code)) migrating = undefined;
        // Whoever says no is there.
        if (!isUnreachable(failure)) lastFailure = undefined;
        if (!isTransient(failure)) return failure;
        if (clock.now() + delayMs > giveUpAtMs) {
          if (isUnreachable(failure)) rest(failure);
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
    restMs = Math.min(2 * restMs, MAX_BACKOFF_MS);
  }

  return {
    table: (name) => `${schema}.${name}`,
    use: (job) => gate(() => persist(job)),
    now: () => Math.round(clock.now() + offsetMs),
    async close() {
      isClosed = true;
      const pool = await opening?.pool.catch(() => undefined);
      if (options.pool === undefined) await pool?.end().catch(noop);
    },
  };
}

interface Opening {
  readonly pool: Promise<PostgresPool>;
  readonly limits: PoolSettings["limits"];
}

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 10_000;

const SERVER_TIME = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

const CLOSED: StoreFailure = { status: "failed", code: "CLOSED", reason: "The store was closed." };

/** Somebody has dropped the schema: it is made again. */
const MISSING_TABLES: ReadonlySet<string> = new Set(["42P01", "3F000"]);

const SYSTEM_CLOCK: DatabaseClock = { now: Date.now, sleep };

function noop(): void {}

/**
 * A lost connection is also told by an event, which would end the program if nobody listened. From its first moment, since
 * a server may go down in the same breath in which it lets us in, and for good, since it may speak once more on one that
 * was given up. Once, since several stores may share a pool.
 */
function listenTo(pool: PostgresPool): void {
  if (listened.has(pool)) return;
  listened.add(pool);
  pool.on("error", noop);
  pool.on("connect", listenToClient);
}

function listenToClient(client: PostgresClient): void {
  if (listened.has(client)) return;
  listened.add(client);
  client.on("error", noop);
}

const listened = new WeakSet<PostgresPool | PostgresClient>();

function errorWithCode(code: string, reason: string): Error {
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

/** Lets at most so many jobs run at a time; the others wait in the order in which they came. */
function createConcurrencyLimit(maxJobs: number): <Result>(job: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (job) => {
    if (running >= maxJobs) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await job();
    } finally {
      // The place is handed on, so that nobody can slip in between.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Whatever was thrown as a failure with PostgreSQL's or the system's code, and without a password in it. */
function postgresFailure(error: unknown, redact: (text: string) => string): StoreFailure {
  const message = error instanceof Error ? error.message : "not an error object";
  // Several addresses of one host that all refuse come as one error without words.
  const inner =
    error instanceof AggregateError ? error.errors.find((each) => codeOf(each) !== undefined) : undefined;
  const reason = message || (inner instanceof Error ? inner.message : "") || "the server cannot be reached";
  const code = codeOf(error) ?? codeOf(inner) ?? (isConnectionLost(message) ? "CONNECTION_LOST" : "UNKNOWN");
  return { status: "failed", code, reason: redact(reason) };
}

/** True when the server or the way to it is away, or it gave way to somebody else, so that the same may work in a moment. */
function isTransient({ code }: StoreFailure): boolean {
  return TRANSIENT_CODES.has(code) || code.startsWith("08");
}

/** True when nobody answered: the next one who asks would wait as long. */
function isUnreachable(failure: StoreFailure): boolean {
  return isTransient(failure) && !CONFLICT_CODES.has(failure.code);
}

/** True when a pooler lets nobody in who brings settings for the connection. */
function isSettingRefused(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message);
}

/** Two that wanted the same rows. */
const CONFLICT_CODES: ReadonlySet<string> = new Set(["40001", "40P01"]);

const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  ...CONFLICT_CODES,
  // Shut down, crashed, starting, too many connections.
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
  // The socket file of a server that is being restarted.
  "ENOENT",
]);

// The driver has no codes for these.
function isConnectionLost(message: string): boolean {
  return /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|client was closed/i.test(
    message,
  );
}

/** Any text as PostgreSQL can hold it, NUL and lone surrogates included; no two texts come out alike. */
export function storableText(text: string): string {
  return JSON.stringify(text);
}

/** The text that was made storable. */
export function originalText(stored: string): string {
  return JSON.parse(stored) as string;
}

/** A key of fixed size for a text of any length, since an index takes no long ones. */
export function textKey(text: string): Buffer {
  return createHash("sha256").update(storableText(text)).digest();
}
