import pg from "pg";
import { describe, expect, it } from "vitest";
import { MIGRATIONS, type Migration, migrate } from "../../src/stores/postgres/migrate.ts";
import type { PostgresClient } from "../../src/stores/postgres/pool.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const ADD_COLUMN: Migration = (schema) => `alter table ${schema}.journals add column title text`;
const BROKEN: Migration = (schema) => `create table ${schema}.half (id int); select 1 / 0`;

describe.skipIf(postgres === undefined)("the schema", () => {
  it("is brought up to date step by step, once, with what is in it", async () => {
    const schema = newSchema();
    const stores = open(schema);
    await stores.journal("s").append("kept");
    await step(schema, [...MIGRATIONS, ADD_COLUMN]);
    await step(schema, [...MIGRATIONS, ADD_COLUMN]);
    expect(await versions(schema)).toBe("1\n2");
    expect((await stores.journal("s").read()).entries).toHaveLength(1);
  });

  it("of a newer program is used by an older one, which leaves it as it is", async () => {
    const schema = newSchema();
    await step(schema, [...MIGRATIONS, ADD_COLUMN]);
    expect(await open(schema).journal("s").append(1)).toMatchObject({ status: "appended" });
    expect(await versions(schema)).toBe("1\n2");
  });

  it("that somebody else makes meanwhile is seen by a connection that was used before", async () => {
    const schema = newSchema();
    const pool = new pg.Pool({ connectionString: postgres?.server.connectionString ?? "", max: 2 });
    const [used, other] = [await pool.connect(), await pool.connect()];
    await migrate(through(used), { schema: `"${newSchema()}"` });
    await other.query("begin");
    await other.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `carryover schema "${schema}"`,
    ]);
    const migrating = migrate(through(used), { schema: `"${schema}"` });
    await expect.poll(() => postgres?.server.run(WAITING), { timeout: 20_000 }).toBe("1");
    await other.query(`create schema "${schema}"`);
    await other.query("commit");
    await migrating;
    for (const each of [used, other]) each.release();
    await pool.end();
    expect(await versions(schema)).toBe("1");
  });

  it("stays as it was when a step fails", async () => {
    const schema = newSchema();
    await open(schema).open();
    await expect(step(schema, [...MIGRATIONS, ADD_COLUMN, BROKEN])).rejects.toThrow("division by zero");
    expect(await versions(schema)).toBe("1");
    expect(await open(schema).journal("s").append(1)).toMatchObject({ status: "appended" });
  });
});

const WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";

function newSchema(): string {
  return postgres?.newSchema() ?? "";
}

function open(schema: string): ReturnType<NonNullable<typeof postgres>["open"]> {
  if (postgres === undefined) throw new Error("no server");
  return postgres.open(schema);
}

async function versions(schema: string): Promise<string | undefined> {
  return postgres?.server.run(`select version from "${schema}".migrations order by version`);
}

/** Migrates as a program with these steps would. */
async function step(schema: string, migrations: readonly Migration[]): Promise<void> {
  const pool = new pg.Pool({ connectionString: postgres?.server.connectionString ?? "", max: 1 });
  const client = await pool.connect();
  try {
    await migrate(through(client), { schema: `"${schema}"`, migrations });
  } finally {
    client.release(new Error("not used again"));
    await pool.end();
  }
}

/** Statements on one connection. */
function through(client: PostgresClient): Parameters<typeof migrate>[0] {
  return async (statement) => (await client.query(statement)).rows ?? [];
}
