import { afterAll, describe, expect, it } from "vitest";
import type { PostgresStores } from "../../src/stores/postgres/stores.ts";
import {
  journalContract,
  outputStoreContract,
  recordStoreContract,
} from "../../src/testing/contracts/store-contracts.ts";
import { startPgBouncer } from "../rig/postgres/start-pgbouncer.ts";
import { postgresForTests } from "./postgres-place.ts";

const IGNORED = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
const postgres = await postgresForTests();
const bouncer = postgres && (await startPgBouncer(postgres.server, { ignoredParameters: IGNORED }));
const strict = postgres && (await startPgBouncer(postgres.server));

afterAll(async () => {
  await Promise.all([bouncer?.stop(), strict?.stop()]);
});

const open = (schema: string, connectionString = bouncer?.connectionString ?? ""): PostgresStores => {
  if (postgres === undefined) throw new Error("no server");
  return postgres.open(schema, { connectionString });
};

describe.skipIf(bouncer === undefined)("through PgBouncer in transaction mode", () => {
  const createPlace =
    <Store>(store: (stores: PostgresStores) => Store) =>
    async () => {
      const schema = postgres?.newSchema() ?? "";
      return { open: (): Store => store(open(schema)) };
    };
  const runner = { describe, it };
  outputStoreContract(runner, {
    name: "postgres, claimed by a session",
    createPlace: createPlace((stores) => stores.session("ses_1").outputs),
  });
  journalContract(runner, {
    name: "postgres",
    createPlace: createPlace((stores) => stores.journal("ses_1")),
  });
  recordStoreContract(runner, {
    name: "postgres",
    createPlace: createPlace((stores) => stores.records("forks")),
  });

  it("twenty programs make the schema at the same time over three connections", async () => {
    let schema = "";
    let programs: readonly PostgresStores[] = [];
    // More than once, since connections that were used before remember what was not there.
    for (let round = 1; round <= 5; round += 1) {
      const fresh = postgres?.newSchema() ?? "";
      schema = fresh;
      programs = Array.from({ length: 20 }, () => open(fresh));
      const opened = await Promise.all(programs.map((stores) => stores.open()));
      expect(opened.filter(({ status }) => status !== "open")).toEqual([]);
    }
    const appended = await Promise.all(
      programs.flatMap((stores, program) =>
        [1, 2, 3].map((n) => stores.journal("ses_1").append({ program, n })),
      ),
    );
    expect(appended.filter(({ status }) => status !== "appended")).toEqual([]);
    expect((await open(schema).journal("ses_1").read()).entries).toHaveLength(60);
  });

  it("works where the time limits of a connection are refused", async () => {
    const schema = postgres?.newSchema() ?? "";
    const stores = open(schema, strict?.connectionString);
    const appended = await Promise.all(
      [1, 2, 3, 4, 5].map((value) => stores.journal(`ses_${value}`).append(value)),
    );
    expect(appended.filter(({ status }) => status !== "appended")).toEqual([]);
    const put = await stores.outputs.put("z".repeat(2_500_000));
    expect(await stores.outputs.get(put.status === "stored" ? put.handle : "")).toHaveLength(2_500_000);
  });
});
