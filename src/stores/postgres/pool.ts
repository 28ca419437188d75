import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { errorMessage, errorWithCode } from "../../text/failure.ts";

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
