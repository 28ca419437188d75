import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { codeOf, errorMessage, errorWithCode, type StoreFailure } from "../../text/failure.ts";

/** The part of `pg`'s `Pool` that is used; you can pass your own. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: PostgresClient) => void): unknown;
}

/** The part of `pg`'s `PoolClient` that is used. */
export interface PostgresClient {
  /** Without rows for several statements in one text. */
  query(statement: Statement): Promise<{ readonly rows?: readonly unknown[] }>;
  release(error?: Error): void;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** A statement, its values, and how long to wait for its result. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly query_timeout?: number;
}

/** The settings of a new pool. */
export interface PoolSettings {
  readonly connectionString: string;
  readonly maxConnections: number;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Whether timeouts are set on the server; some poolers refuse that. */
  readonly limits: "of-server" | "none";
}

/** Loads the package `pg` and opens a pool; throws with the code PG_NOT_INSTALLED where the package cannot be used. */
export async function openPool(settings: PoolSettings, load: LoadPg): Promise<PostgresPool> {
  const pg = await load().catch((cause: unknown) => {
    const reason = `The package pg, by which PostgreSQL is reached, cannot be loaded. Install it: npm install pg (${errorMessage(cause)})`;
    throw errorWithCode("PG_NOT_INSTALLED", reason);
  });
  const { Pool } = pg.default ?? pg;
  if (Pool === undefined)
    throw errorWithCode("PG_NOT_INSTALLED", "The package pg has no Pool. Install it: npm install pg");
  return new Pool({
    connectionString: settings.connectionString,
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    ...(settings.limits === "of-server" && {
      statement_timeout: settings.statementTimeoutMs,
      lock_timeout: settings.statementTimeoutMs,
      idle_in_transaction_session_timeout: 2 * settings.statementTimeoutMs,
    }),
    application_name: "carryover",
    keepAlive: true,
    // The pool must not keep the process alive.
    allowExitOnIdle: true,
  });
}

/** Loads the package `pg`. */
export type LoadPg = () => Promise<PgModule>;

/** The imported package; since it is CommonJS, its exports may be below `default`. */
export interface PgModule {
  readonly Pool?: PoolConstructor;
  readonly default?: { readonly Pool?: PoolConstructor };
}

type PoolConstructor = new (settings: Readonly<Record<string, unknown>>) => PostgresPool;

/** Loads the package `pg` as a dependency of this program, else from the first of these folders that has it. */
export function createLoadPg(folders: readonly string[] = [], load: LoadPg = loadPg): LoadPg {
  return () =>
    load().catch(async (cause: unknown) => {
      for (const folder of folders) {
        const path = resolveFrom(folder);
        if (path !== undefined) return (await import(pathToFileURL(path).href)) as unknown as PgModule;
      }
      throw cause;
    });
}

const loadPg: LoadPg = async () => (await import("pg")) as unknown as PgModule;

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, "any.js")).resolve("pg");
  } catch {
    return undefined;
  }
}

/** A function that redacts a connection string and its password in any text, also where only a part is quoted. */
export function createRedactConnection(connectionString: string | undefined): (text: string) => string {
  const secrets = connectionString === undefined ? [] : secretsOf(connectionString);
  return (text) => {
    let redacted = text;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, REDACTED);
    return redacted.replace(URL_CREDENTIALS, `$1${REDACTED}@`);
  };
}

/** True for a connection string with a password. */
export function hasPassword(connectionString: string): boolean {
  return passwordsOf(connectionString).some((password) => password !== "");
}

const REDACTED = "[REDACTED]";
const URL_CREDENTIALS = /(\bpostgres(?:ql)?:\/\/)[^\s/@]{1,1000}@/gi;

/** Longest first, so that no part of a longer one is left. */
function secretsOf(connectionString: string): readonly string[] {
  const secrets = new Set([connectionString]);
  for (const part of passwordsOf(connectionString)) {
    secrets.add(part);
    secrets.add(decoded(part));
  }
  return [...secrets].filter((secret) => secret !== "").sort((left, right) => right.length - left.length);
}

/** The password before the host, and the one in the parameters. */
function passwordsOf(connectionString: string): readonly string[] {
  const afterScheme = connectionString.slice(connectionString.indexOf("://") + 3);
  const credentials = afterScheme.slice(0, Math.max(0, afterScheme.lastIndexOf("@")));
  const colon = credentials.indexOf(":");
  const parameter = /[?&]password=([^&]*)/i.exec(connectionString)?.[1];
  return [
    ...(colon < 0 ? [] : [credentials.slice(colon + 1)]),
    ...(parameter === undefined ? [] : [parameter]),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Converts a thrown value into a failure with PostgreSQL's or the system's code, and redacts passwords. */
export function postgresFailure(error: unknown, redact: (text: string) => string): StoreFailure {
  const message = error instanceof Error ? error.message : "not an error object";
  // If all addresses of a host refuse, the error has no message of its own.
  const inner =
    error instanceof AggregateError ? error.errors.find((each) => codeOf(each) !== undefined) : undefined;
  const reason = message || (inner instanceof Error ? inner.message : "") || "the server cannot be reached";
  const code = codeOf(error) ?? codeOf(inner) ?? (isConnectionLost(message) ? "CONNECTION_LOST" : "UNKNOWN");
  return { status: "failed", code, reason: redact(reason) };
}

/** True if a retry may succeed: the server is unreachable, or the transaction conflicted with another. */
export function isTransient({ code }: StoreFailure): boolean {
  return TRANSIENT_CODES.has(code) || code.startsWith("08");
}

/** True if the server cannot be reached. */
export function isUnreachable(failure: StoreFailure): boolean {
  return isTransient(failure) && !CONFLICT_CODES.has(failure.code);
}

/** True if a pooler refuses settings of the connection. */
export function isSettingRefused(error: unknown): boolean {
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
