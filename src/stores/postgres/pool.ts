import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { errorMessage } from "../../text/display.ts";
import type { StoreFailure } from "../store-failure.ts";

/** What is needed of a pool of the package `pg`; a `Pool` of yours fits. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: PostgresClient) => void): unknown;
}

/** One connection, as `pg` gives it. */
export interface PostgresClient {
  query(statement: Statement): Promise<{ readonly rows: readonly unknown[] }>;
  release(error?: Error): void;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** A statement with its values, and how long its answer is waited for. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly query_timeout?: number;
}

/** What is asked of a new pool. */
export interface PoolSettings {
  readonly connectionString: string;
  readonly maxConnections: number;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Whether the server is told how long it may work; a pooler may not allow it. */
  readonly limits: "of-server" | "none";
}

/** A pool of the package `pg`, which is loaded only now, or why there is none. */
export async function openPool(settings: PoolSettings, load: LoadPg): Promise<OpenedPool | StoreFailure> {
  let pg: PgModule;
  try {
    pg = await load();
  } catch (cause) {
    const reason = `The package pg, by which PostgreSQL is reached, cannot be loaded. Install it: npm install pg (${errorMessage(cause)})`;
    return { status: "failed", code: "PG_NOT_INSTALLED", reason };
  }
  const { Pool } = pg.default ?? pg;
  if (Pool === undefined)
    return {
      status: "failed",
      code: "PG_NOT_INSTALLED",
      reason: "The package pg has no Pool. Install it: npm install pg",
    };
  const pool = new Pool({
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
    // A store must not keep a program alive that has nothing else to do.
    allowExitOnIdle: true,
  });
  return { status: "open", pool };
}

interface OpenedPool {
  readonly status: "open";
  readonly pool: PostgresPool;
}

/** How the package is loaded. */
export type LoadPg = () => Promise<PgModule>;

/** The package as an import gives it: CommonJS, so it may stand under `default`. */
export interface PgModule {
  readonly Pool?: PoolConstructor;
  readonly default?: { readonly Pool?: PoolConstructor };
}

type PoolConstructor = new (settings: Readonly<Record<string, unknown>>) => PostgresPool;

/** Loads the package `pg` from where this program is, else from the first of these folders that has it. */
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

/** Takes a connection string and its password out of any text, also where only a piece of the string is quoted. */
export function createRedactConnection(connectionString: string | undefined): (text: string) => string {
  const secrets = connectionString === undefined ? [] : secretsOf(connectionString);
  return (text) => {
    let redacted = text;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, REDACTED);
    return redacted.replace(URL_CREDENTIALS, `$1${REDACTED}@`);
  };
}

/** True for an address in which a password stands. */
export function hasPassword(connectionString: string): boolean {
  return passwordsOf(connectionString).some((password) => password !== "");
}

const REDACTED = "[REDACTED]";
const URL_CREDENTIALS = /(\bpostgres(?:ql)?:\/\/)[^\s/@]{1,1000}@/gi;

/** Longest first, so that no piece of a longer one is left. */
function secretsOf(connectionString: string): readonly string[] {
  const secrets = new Set([connectionString]);
  for (const part of passwordsOf(connectionString)) {
    secrets.add(part);
    secrets.add(decoded(part));
  }
  return [...secrets].filter((secret) => secret !== "").sort((left, right) => right.length - left.length);
}

/** The password before the host, and the one among the parameters. */
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
