import pg from "pg";
import { describe, expect, it } from "vitest";
import type { PostgresStores } from "../../src/stores/postgres/stores.ts";
import { type PostgresForTests, postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe.skipIf(postgres === undefined)("cleaning the outputs in a database", () => {
  it("removes what was not used for so long", async () => {
    const place = open();
    await place.putAged("old", 14 * DAY_MS + HOUR_MS);
    const young = await place.putAged("young", 14 * DAY_MS - HOUR_MS);
    expect(await place.stores.clean()).toEqual({
      status: "cleaned",
      removedOutputs: 1,
      removedBytes: 3,
      keptOutputs: 1,
      keptBytes: 5,
    });
    expect(await place.handlesLeft()).toEqual([young]);
  });

  it("removes the least recently used until the bytes fit, and reading counts as use", async () => {
    const place = open();
    const first = await place.putAged("a".repeat(600), 3 * HOUR_MS);
    await place.putAged("b".repeat(600), 2 * HOUR_MS);
    await place.putAged("c".repeat(600), HOUR_MS);
    await place.stores.outputs.get(first);
    expect(await place.stores.clean({ maxBytes: 1_000 })).toMatchObject({
      removedBytes: 1_200,
      keptBytes: 600,
    });
    expect(await place.handlesLeft()).toEqual([first]);
  });

  it("removes more than one slice of them, and pieces of large ones", async () => {
    const place = open();
    await place.putAged("x".repeat(2_500_000), 2 * HOUR_MS);
    await Promise.all(
      Array.from({ length: 1_200 }, (_, index) => place.stores.outputs.put(`output ${index}`)),
    );
    await place.age(HOUR_MS);
    expect(await place.stores.clean({ maxBytes: 0 })).toMatchObject({
      removedOutputs: 1_201,
      keptOutputs: 0,
    });
    expect(await place.count("output_pieces")).toBe(0);
  });

  it("keeps what was used within the last minute, whatever the limits", async () => {
    const place = open();
    await place.stores.outputs.put("just now");
    const report = await place.stores.clean({ maxBytes: 0, maxAgeMs: 0 });
    expect(report).toMatchObject({ removedOutputs: 0, keptOutputs: 1 });
  });

  it("never removes what a session claims, and counts every session that does", async () => {
    const place = open();
    const [one, other] = [place.stores.session("ses_1"), place.stores.session("ses_\0\ud800")];
    const claimed = await put(one.outputs, "seen by both");
    await put(other.outputs, "seen by both");
    const large = await put(other.outputs, "y".repeat(2_000_000));
    await place.age(100 * DAY_MS);
    const everything = { maxBytes: 0, maxAgeMs: 0, minAgeMs: 0 };
    expect(await place.stores.clean(everything)).toMatchObject({ removedOutputs: 0, keptOutputs: 2 });
    expect(await place.stores.release("ses_\0\ud800")).toEqual({ status: "released" });
    expect(await place.stores.clean(everything)).toMatchObject({ removedOutputs: 1, keptOutputs: 1 });
    expect(await place.handlesLeft()).toEqual([claimed]);
    expect(await one.outputs.get(large)).toBeUndefined();
    await place.stores.release("ses_1");
    expect(await place.stores.clean(everything)).toMatchObject({ removedOutputs: 1, keptOutputs: 0 });
  });

  it("never removes under the hands of those who put and claim", async () => {
    const place = open({ maxConnections: 6 });
    const everything = { maxBytes: 0, maxAgeMs: 0, minAgeMs: 0 };
    const handles: string[] = [];
    let isWriting = true;
    const cleaning = (async () => {
      while (isWriting) await place.stores.clean(everything);
    })();
    // The same few contents again and again, by sessions that come and go.
    const work = async (worker: number): Promise<void> => {
      for (let round = 0; round < 40; round += 1) {
        const session = `ses_${worker}_${round}`;
        const handle = await put(place.stores.session(session).outputs, `content ${round % 5}`);
        expect(await place.stores.outputs.get(handle)).toBe(`content ${round % 5}`);
        if (round % 4 === 0) handles.push(handle);
        else await place.stores.release(session);
      }
    };
    await Promise.all([0, 1, 2].map(work));
    isWriting = false;
    await cleaning;
    const left = await place.handlesLeft();
    for (const handle of handles) expect(left).toContain(handle);
  });

  it("looks again at an output that is put while it is about to go", async () => {
    const place = open();
    const handle = await place.putAged("put again in time", HOUR_MS);
    const other = new pg.Client({ connectionString: postgres?.server.connectionString });
    await other.connect();
    await other.query("begin");
    await other.query(place.named("update SCHEMA.outputs set used_at = now()"));
    const cleaning = place.stores.clean({ maxBytes: 0 });
    await expect.poll(() => place.run(WAITING)).toBe("1");
    await other.query("commit");
    await other.end();
    expect(await cleaning).toMatchObject({ removedOutputs: 0, keptOutputs: 1 });
    expect(await place.handlesLeft()).toEqual([handle]);
  });

  it("is done by one of all machines, once an hour", async () => {
    const schema = postgres?.newSchema() ?? "";
    let reports = 0;
    const onCleaned = (): void => {
      reports += 1;
    };
    const machines = [0, 1, 2].map(() => open({ cleaning: "hourly", onCleaned }, schema));
    for (let round = 0; round < 3; round += 1)
      await Promise.all(machines.map(({ stores }) => put(stores.outputs, `round ${round}`)));
    await expect.poll(() => reports).toBe(1);
  });

  it("forgets what deleted records left, and their versions still grow", async () => {
    const place = open();
    const records = place.stores.records("forks");
    const first = await records.put({ id: "a", value: 1, expected: "missing" });
    const version = first.status === "stored" ? first.version : 0;
    await records.delete("a", version);
    await place.run("update SCHEMA.records set stored_at = now() - interval '31 days'");
    await place.stores.clean();
    expect(await place.count("records")).toBe(0);
    const again = await records.put({ id: "a", value: 2, expected: "missing" });
    expect(again.status === "stored" && again.version > version + 1).toBe(true);
  });
});

const WAITING =
  "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%delete from%'";

interface Place {
  readonly stores: PostgresStores;
  /** Puts a text that was last used so long ago. */
  putAged(text: string, ageMs: number): Promise<string>;
  /** Makes everything look as if it had last been used so long ago. */
  age(ageMs: number): Promise<void>;
  handlesLeft(): Promise<readonly string[]>;
  count(table: string): Promise<number>;
  /** The statement with the name of the schema in it. */
  named(sql: string): string;
  run(sql: string): Promise<string>;
}

function open(
  options: Parameters<PostgresForTests["open"]>[1] = {},
  schema = postgres?.newSchema() ?? "",
): Place {
  if (postgres === undefined) throw new Error("no server");
  const { server } = postgres;
  const stores = postgres.open(schema, options);
  const named = (sql: string): string => sql.replaceAll("SCHEMA", `"${schema}"`);
  const run = (sql: string): Promise<string> => server.run(named(sql));
  const past = (ageMs: number): string => `now() - ${ageMs} * interval '1 millisecond'`;
  return {
    stores,
    named,
    run,
    async putAged(text, ageMs) {
      const handle = await put(stores.outputs, text);
      await run(`update SCHEMA.outputs set used_at = ${past(ageMs)} where sha256 = '\\x${handle}'`);
      return handle;
    },
    age: async (ageMs) => void (await run(`update SCHEMA.outputs set used_at = ${past(ageMs)}`)),
    async handlesLeft() {
      const rows = await run("select encode(sha256, 'hex') from SCHEMA.outputs order by used_at");
      return rows === "" ? [] : rows.split("\n");
    },
    count: async (table) => Number(await run(`select count(*) from SCHEMA.${table}`)),
  };
}

async function put(outputs: PostgresStores["outputs"], text: string): Promise<string> {
  const stored = await outputs.put(text);
  if (stored.status === "failed") throw new Error(JSON.stringify(stored));
  return stored.handle;
}
