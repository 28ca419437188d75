import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import type { PostgresPool } from "../../src/stores/postgres/pool.ts";
import { openPostgresStores, type PostgresStores } from "../../src/stores/postgres/stores.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const pool = new pg.Pool({ connectionString: postgres?.server.connectionString ?? "", max: 4 });
pool.on("error", () => {});

afterAll(() => pool.end());

describe.skipIf(postgres === undefined)(
  "a write that counted, and whose answer was lost with the connection",
  () => {
    it("is not done twice, and is told as done", async () => {
      const { stores, lose } = open();
      await stores.open();
      const records = stores.records("r");
      lose();
      const created = await records.put({ id: "a", value: 1, expected: "missing" });
      expect(created).toMatchObject({ status: "stored" });
      const version = created.status === "stored" ? created.version : 0;
      lose();
      expect(await records.put({ id: "a", value: 2, expected: version })).toEqual({
        status: "stored",
        version: version + 1,
      });
      lose();
      expect(await records.delete("a", version + 1)).toEqual({ status: "deleted" });
      expect(await records.get("a")).toEqual({ status: "missing" });
    });

    it("is a failure, and no conflict, when somebody else has written since", async () => {
      const { stores, schema, lose } = open();
      const records = stores.records("r");
      const created = await records.put({ id: "a", value: 1, expected: "missing" });
      const version = created.status === "stored" ? created.version : 0;
      const other = postgres?.open(schema).records("r");
      lose(async () => void (await other?.put({ id: "a", value: "other", expected: version + 1 })));
      expect(await records.put({ id: "a", value: 2, expected: version })).toMatchObject({
        status: "failed",
        code: "OUTCOME_UNKNOWN",
      });
      expect(await records.get("a")).toMatchObject({ value: "other", version: version + 2 });
    });

    it("stands once in a log, in its place", async () => {
      const { stores, lose } = open();
      const journal = stores.journal("s");
      await journal.append("first");
      lose();
      const both = await Promise.all([journal.append("second"), journal.append("third")]);
      expect(both.map(({ status }) => status)).toEqual(["appended", "appended"]);
      await journal.append("fourth");
      const { entries } = await journal.read();
      expect(entries.map(({ value }) => value)).toEqual(["first", "second", "third", "fourth"]);
    });

    it("is one output, small or large, with its claim", async () => {
      const { stores, schema, lose } = open();
      await stores.open();
      for (const text of ["small", "large ".repeat(400_000)]) {
        lose();
        const stored = await stores.session("s").outputs.put(text);
        expect(await stores.outputs.get(stored.status === "stored" ? stored.handle : "")).toBe(text);
      }
      const claims = await postgres?.server.run(`select count(*) from "${schema}".output_claims`);
      expect(claims).toBe("2");
    });

    it("says of a purge what it removed, though a second try finds nothing", async () => {
      const { stores, lose } = open();
      const put = await stores.outputs.put("an output");
      await stores.journal("s").append("an entry");
      lose();
      const purged = await stores.purge(({ logs, outputs }) => ({
        sessions: logs.map(({ sessionId }) => sessionId),
        records: [],
        outputs: outputs.map(({ handle }) => handle),
        minAgeMs: 0,
      }));
      expect(purged).toEqual({ status: "purged", logs: 1, records: 0, outputs: 1, bytes: 19 });
      expect(await stores.outputs.get(put.status === "stored" ? put.handle : "")).toBeUndefined();
    });
  },
);

interface Losing {
  readonly stores: PostgresStores;
  readonly schema: string;
  /** The next write counts, then this happens, and then its connection is gone. */
  lose(meanwhile?: () => Promise<void>): void;
}

function open(): Losing {
  const schema = postgres?.newSchema() ?? "";
  let lost: (() => Promise<void>) | undefined;
  const losing: PostgresPool = {
    async connect() {
      const client = await pool.connect();
      return {
        async query(statement) {
          const answer = await client.query({ ...statement, values: [...statement.values] });
          const isWrite = /^\s*(insert|update|with stored|commit)\b/.test(statement.text);
          const meanwhile = isWrite ? lost : undefined;
          if (meanwhile === undefined) return answer;
          lost = undefined;
          await meanwhile();
          throw new Error("Connection terminated unexpectedly");
        },
        release: (error) => client.release(error),
        on: (event, listener) => client.on(event, listener),
      };
    },
    end: async () => {},
    on: () => {},
  };
  return {
    schema,
    stores: openPostgresStores({ pool: losing, schema, cleaning: "never" }),
    lose(meanwhile = async () => {}) {
      lost = meanwhile;
    },
  };
}
