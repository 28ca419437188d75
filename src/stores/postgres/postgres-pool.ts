import type { StoreFailure } from "../files/store-failure.ts";

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
    const reason = `The package pg, by which PostgreSQL is reached, cannot be loaded. Install it: npm install pg (${textOf(cause)})`;
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

export interface OpenedPool {
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

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
