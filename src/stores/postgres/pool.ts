import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { errorMessage } from "../../text/display.ts";
import { errorWithCode } from "../store-failure.ts";

/** The part of `pg`'s `Pool` that is used; you can pass your own. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: PostgresClient) => void): unknown;
}

/** The part of `pg`'s `PoolClient` that is used. */
export interface PostgresClient {
  query(statement: Statement): Promise<{ readonly rows: readonly unknown[] }>;
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
