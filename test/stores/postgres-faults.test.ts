import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { describe, expect, it } from "vitest";
import type { PostgresPool } from "../../src/stores/postgres/pool.ts";
import { openPostgresStores } from "../../src/stores/postgres/stores.ts";
import { bundleChild } from "./bundle-child.ts";
import { postgresForTests } from "./postgres-place.ts";
import { startProxy } from "./postgres-proxy.ts";

const place = await postgresForTests();

describe.skipIf(place === undefined)("what can go wrong with a database", () => {
  it("a wrong password is told without it", async () => {
    const address = server().connectionString.replace(/:[^:@]+@/, ":wr0ng@");
    const stores = postgres().open(postgres().newSchema(), { connectionString: address });
    const outcome = await stores.outputs.put("text");
    expect(outcome).toMatchObject({ status: "failed", code: "28P01" });
    expect(JSON.stringify(outcome)).not.toContain("wr0ng");
  });

  it.each(["postgres://:::", "postgres://user:hidd3n@[bad/x", "nonsense"])(
    "the address %s is a failure, not a throw",
    async (connectionString) => {
      const stores = postgres().open("x", { connectionString, retryMs: 0, connectTimeoutMs: 1_000 });
      const outcome = await stores.open();
      expect(outcome.status).toBe("failed");
      expect(JSON.stringify(outcome)).not.toContain("hidd3n");
    },
  );

  it("a restart is noticed by nobody who can wait", async () => {
    const stores = postgres().open(postgres().newSchema(), { timeoutMs: 60_000, retryMs: 30_000 });
    const records = stores.records("r");
    await records.put({ id: "a", value: 1, expected: "missing" });
    await server().kill();
    const writing = [records.get("a"), stores.journal("s").append("kept"), stores.outputs.put("kept")];
    await server().restart();
    expect(
      (await Promise.all(writing)).map((outcome) => typeof outcome === "object" && outcome.status),
    ).toEqual(["found", "appended", "stored"]);
  });

  it("a lock that is not let go ends a statement in time", async () => {
    const schema = postgres().newSchema();
    const stores = postgres().open(schema, { statementTimeoutMs: 300 });
    await stores.open();
    const client = new pg.Client({ connectionString: server().connectionString });
    await client.connect();
    await client.query(`begin; lock table "${schema}".records in access exclusive mode`);
    const outcome = await stores.records("r").put({ id: "a", value: 1, expected: "missing" });
    expect(outcome.status === "failed" && ["57014", "55P03"].includes(outcome.code)).toBe(true);
    await client.query("rollback");
    await client.end();
    expect(await stores.records("r").get("a")).toEqual({ status: "missing" });
  });

  it("a network that swallows everything ends a call in time, and costs nothing afterwards", async () => {
    const proxy = await startProxy(server().tcpConnectionString);
    const stores = postgres().open(postgres().newSchema(), {
      connectionString: proxy.connectionString,
      statementTimeoutMs: 300,
      connectTimeoutMs: 500,
      retryMs: 1_000,
    });
    const records = stores.records("r");
    expect(await records.put({ id: "a", value: 1, expected: "missing" })).toMatchObject({ status: "stored" });
    proxy.mute();
    expect(await records.get("a")).toMatchObject({ status: "failed", code: "CONNECTION_LOST" });
    proxy.unmute();
    await expect.poll(() => records.get("a"), { timeout: 20_000 }).toMatchObject({ status: "found" });
    proxy.stop();
  });

  it("a program that has nothing else to do ends without closing anything", async () => {
    const child = await bundleChild(fileURLToPath(new URL("./postgres-exit-child.ts", import.meta.url)));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [child.path, server().connectionString, postgres().newSchema()],
      { timeout: 60_000 },
    );
    child.remove();
    expect(stdout).toBe("stored");
  });

  it("a connection on which a transaction failed is not used again", async () => {
    const schema = postgres().newSchema();
    const stores = postgres().open(schema, { maxConnections: 1 });
    await stores.open();
    await server().run(`alter table "${schema}".output_pieces add check (number < 1)`);
    expect(await stores.outputs.put("large ".repeat(400_000))).toMatchObject({
      status: "failed",
      code: "23514",
    });
    expect(await stores.outputs.put("small")).toMatchObject({ status: "stored" });
    expect(await server().run(`select count(*) from "${schema}".outputs`)).toBe("1");
  });

  it("a damaged record is never taken for a missing one, and can be replaced", async () => {
    const schema = postgres().newSchema();
    const records = postgres().open(schema).records("r");
    await records.put({ id: "a", value: { whole: true }, expected: "missing" });
    await records.put({ id: "b", value: 2, expected: "missing" });
    await server().run(`update "${schema}".records set value = '{"wh' where id = '"a"'`);
    expect(await records.get("a")).toMatchObject({ status: "corrupt" });
    expect(await records.list()).toMatchObject({
      records: [{ id: "b" }],
      problems: [{ id: "a", code: "CORRUPT" }],
    });
    expect(await records.put({ id: "a", value: 1, expected: "missing" })).toEqual({
      status: "conflict",
      actual: "corrupt",
    });
    expect(await records.put({ id: "a", value: 1, expected: "corrupt" })).toMatchObject({ status: "stored" });
    expect(await records.get("a")).toMatchObject({ status: "found", value: 1 });
  });

  it("a damaged entry of a log is told, and the others are read", async () => {
    const schema = postgres().newSchema();
    const journal = postgres().open(schema).journal("s");
    for (const value of [1, 2, 3]) await journal.append(value);
    await server().run(`update "${schema}".journal_entries set value = '{' where sequence = 2`);
    const { entries, problems } = await journal.read();
    expect(entries.map(({ value }) => value)).toEqual([1, 3]);
    expect(problems).toMatchObject([{ type: "bad-line" }]);
  });

  it("a damaged output is never given out", async () => {
    const schema = postgres().newSchema();
    const { outputs } = postgres().open(schema);
    const stored = await outputs.put("the truth");
    await server().run(`update "${schema}".outputs set content = 'the lie'`);
    const { handle } = stored as { readonly handle: string };
    expect(await outputs.get(handle)).toMatchObject({ status: "failed", code: "DAMAGED" });
    expect((await outputs.put("the truth")).status).toBe("stored");
    expect(await outputs.get(handle)).toBe("the truth");
  });

  it("a damaged piece of a large output mends with the next put of it", async () => {
    const schema = postgres().newSchema();
    const { outputs } = postgres().open(schema);
    const large = "large ".repeat(400_000);
    const { handle } = (await outputs.put(large)) as { readonly handle: string };
    for (const damage of [
      "update output_pieces set content = 'x' where number = 1",
      "delete from output_pieces where number = 0",
    ]) {
      await server().run(damage.replace("output_pieces", `"${schema}".output_pieces`));
      expect(await outputs.get(handle)).toMatchObject({ status: "failed", code: "DAMAGED" });
      expect((await outputs.put(large)).status).toBe("stored");
      expect(await outputs.get(handle)).toBe(large);
    }
  });

  it("entries that a log has lost are told", async () => {
    const schema = postgres().newSchema();
    const [journal, other] = [postgres().open(schema).journal("s"), postgres().open(schema).journal("s")];
    for (const value of [1, 2, 3]) await journal.append(value);
    await other.append("other");
    for (const value of [4, 5]) await journal.append(value);
    expect((await journal.read()).problems).toEqual([]);
    // As a server that took over without the last commits.
    await server().run(`delete from "${schema}".journal_entries where value in ('2', '3')`);
    const { entries, problems } = await journal.read();
    // Two of them have the same number, and their writers' names are random.
    expect(new Set(entries.map(({ value }) => value))).toEqual(new Set([1, 4, "other", 5]));
    expect(problems).toMatchObject([{ type: "missing-lines", code: "GAP" }]);
  });

  it("an entry that could not be written leaves no gap to report", async () => {
    const schema = postgres().newSchema();
    const journal = postgres().open(schema).journal("s");
    await journal.append(1);
    await server().run(`alter table "${schema}".journal_entries add constraint no check (value <> '2')`);
    expect((await journal.append(2)).status).toBe("failed");
    expect(await journal.append(3)).toMatchObject({ status: "appended" });
    expect(await journal.read()).toMatchObject({ entries: [{ value: 1 }, { value: 3 }], problems: [] });
  });

  it("a version that comes again after a take-over without the last commits fences off its old owner", async () => {
    const schema = postgres().newSchema();
    const [owner, other] = [postgres().open(schema).records("r"), postgres().open(schema).records("r")];
    const first = await owner.put({ id: "a", value: "first", expected: "missing" });
    const seen = first.status === "stored" ? first.version : 0;
    expect(await owner.put({ id: "a", value: "lost", expected: seen })).toMatchObject({ version: seen + 1 });
    // The new server has never heard of the last write; another machine makes one, under the same number.
    await server().run(
      `update "${schema}".records set value = '"first"', version = ${seen}, write_id = gen_random_uuid()`,
    );
    expect(await other.put({ id: "a", value: "theirs", expected: seen })).toMatchObject({
      version: seen + 1,
    });
    const stale = await owner.put({ id: "a", value: "stale", expected: seen + 1 });
    expect(stale).toEqual({ status: "conflict", actual: seen + 1 });
    expect(await owner.delete("a", seen + 1)).toMatchObject({ status: "conflict" });
    expect(await owner.get("a")).toMatchObject({ status: "found", value: "theirs" });
    expect(await owner.put({ id: "a", value: "read again", expected: seen + 1 })).toMatchObject({
      status: "stored",
    });
  });

  it("a record tells its age by the server's clock", async () => {
    const schema = postgres().newSchema();
    const records = postgres().open(schema).records("r");
    await records.put({ id: "a", value: 1, expected: "missing" });
    await server().run(`update "${schema}".records set stored_at = now() - interval '40 seconds'`);
    const found = await records.get("a");
    expect(found.status === "found" && (found.ageMs ?? 0) >= 40_000).toBe(true);
  });

  it("a log that was removed goes on", async () => {
    const schema = postgres().newSchema();
    const journal = postgres().open(schema).journal("s");
    await journal.append(1);
    await server().run(`delete from "${schema}".journals`);
    expect((await journal.append(2)).status).toBe("failed");
    expect(await journal.append(3)).toMatchObject({ status: "appended" });
    expect((await journal.read()).entries.map(({ value }) => value)).toEqual([3]);
  });

  it("a schema that was dropped is made again", async () => {
    const schema = postgres().newSchema();
    const stores = postgres().open(schema);
    await stores.open();
    await server().run(`drop schema "${schema}" cascade`);
    expect(await stores.records("r").get("a")).toMatchObject({ status: "failed", code: "42P01" });
    expect(await stores.records("r").put({ id: "a", value: 1, expected: "missing" })).toMatchObject({
      status: "stored",
    });
  });

  it("programs that start at the same moment all find the schema", async () => {
    for (let round = 0; round < 5; round += 1) {
      const schema = postgres().newSchema();
      const programs = Array.from({ length: 8 }, () => postgres().open(schema));
      const opened = await Promise.all(programs.map((stores) => stores.open()));
      expect(opened).toEqual(programs.map(() => ({ status: "open" })));
    }
  });

  it("a schema may have any name", async () => {
    const stores = postgres().open(`Fleet "one"; drop ${Date.now()}`);
    expect(await stores.records("r").put({ id: "a", value: 1, expected: "missing" })).toMatchObject({
      status: "stored",
    });
  });

  it("a database that cannot hold every text is refused, with what to do", async () => {
    await server().run("create database latin encoding 'LATIN1' template template0 locale 'C'");
    await server().run("grant create on database latin to agent");
    const connectionString = server().connectionString.replace("/postgres?", "/latin?");
    expect(await postgres().open("carryover", { connectionString }).open()).toMatchObject({
      status: "failed",
      code: "BAD_ENCODING",
      reason: expect.stringContaining("create database") as string,
    });
  });

  it("a user without any right but on the tables can work once the schema is there", async () => {
    const schema = postgres().newSchema();
    await postgres().open(schema).open();
    await server().run(`
      create role guest login password 'guest';
      grant usage on schema "${schema}" to guest;
      grant select, insert, update, delete on all tables in schema "${schema}" to guest`);
    const connectionString = server().connectionString.replace(/\/\/[^@]+@/, "//guest:guest@");
    const stores = postgres().open(schema, { connectionString });
    expect(await stores.outputs.put("text")).toMatchObject({ status: "stored" });
    expect(await stores.journal("s").append(1)).toMatchObject({ status: "appended" });
  });

  it("a pool of somebody else is used and left open", async () => {
    const pool = new pg.Pool({ connectionString: server().connectionString, max: 1 });
    const stores = openPostgresStores({
      pool: pool satisfies PostgresPool,
      schema: postgres().newSchema(),
    });
    expect(await stores.session("s").outputs.put("text")).toMatchObject({ status: "stored" });
    await stores.close();
    expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });

  it("the time is the server's", async () => {
    const stores = postgres().open(postgres().newSchema());
    await stores.open();
    const serverMs = Number(await server().run("select extract(epoch from clock_timestamp()) * 1000"));
    expect(Math.abs(stores.now() - serverMs)).toBeLessThan(20_000);
  });
});

function postgres(): NonNullable<typeof place> {
  if (place === undefined) throw new Error("no server");
  return place;
}

function server(): NonNullable<typeof place>["server"] {
  return postgres().server;
}
