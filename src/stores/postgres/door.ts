import {
  check,
  gone,
  limitFrom,
  methods,
  numberFrom,
  type Problem,
  required,
  type Shape,
  text,
  throwProblems,
  wholeFrom,
} from "../../text/check.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { PostgresDatabaseOptions } from "./database.ts";
import { openPostgresStores, type PostgresStores } from "./stores.ts";

/** All stores in one PostgreSQL database, for agents on several machines. Connects when first used; its methods never throw. */
export function createPostgresStores(options: PostgresStoresOptions): PostgresStores {
  throwProblems(problemsOf(options));
  return openPostgresStores(options);
}

/** How the database is reached, and how long old outputs stay. */
export interface PostgresStoresOptions extends PostgresDatabaseOptions {
  /** How long an output is kept after its last use. @default 14 days */
  readonly maxAgeMs?: number;
  /** How much is kept in all. @default 16 GiB */
  readonly maxBytes?: number;
}

const ONE_OF_BOTH = "postgres://user:password@host/database, or a pool of your own";

const STORES_SHAPE: Shape<PostgresStoresOptions> = {
  ...gone({
    statementTimeoutMs: "give timeoutMs, of which a statement may take three quarters",
    connectTimeoutMs: "give timeoutMs",
    retryMs: "give timeoutMs",
    load: "give a pool of your own",
    clock: "leave it out: the time is the system's",
    cleaning: "give maxAgeMs and maxBytes",
    onCleaned: "call clean, which gives its report",
    minAgeMs: "leave it out: what was used in the last minute stays",
  }),
  // Its problem does not show the value, which may hold a password.
  connectionString: {
    expects: ONE_OF_BOTH,
    find: (value, path) =>
      typeof value === "string" && value !== ""
        ? []
        : [{ path, text: `${path.join(".")} cannot be used; give ${ONE_OF_BOTH}` }],
  },
  pool: methods("connect"),
  schema: text,
  maxConnections: wholeFrom(1),
  timeoutMs: numberFrom(0),
  maxAgeMs: limitFrom(0),
  maxBytes: limitFrom(0),
};

/** Everything that is wrong with the options, a database that is not named included. */
function problemsOf(options: PostgresStoresOptions): readonly Problem[] {
  const { connectionString } = STORES_SHAPE;
  const isNamed = asObject(options).pool !== undefined;
  return check(
    { ...STORES_SHAPE, connectionString: isNamed ? connectionString : required(connectionString) },
    options ?? {},
  );
}
