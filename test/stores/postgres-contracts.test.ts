import { describe, it } from "vitest";
import type { PostgresStores } from "../../src/stores/postgres/stores.ts";
import { journalContract } from "../../src/testing/contracts/journal-contract.ts";
import { recordStoreContract } from "../../src/testing/contracts/record-store-contract.ts";
import { spillStoreContract } from "../../src/testing/contracts/spill-store-contract.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();

describe.skipIf(postgres === undefined)("with a real server", () => {
  const createPlace =
    <Store>(store: (stores: PostgresStores) => Store) =>
    async () => {
      const schema = postgres?.newSchema() ?? "";
      return {
        open(): Store {
          if (postgres === undefined) throw new Error("no server");
          return store(postgres.open(schema));
        },
      };
    };
  const runner = { describe, it };
  spillStoreContract(runner, { name: "postgres", createPlace: createPlace(({ spills }) => spills) });
  spillStoreContract(runner, {
    name: "postgres, claimed by a session",
    createPlace: createPlace((stores) => stores.session("ses_1").spills),
  });
  journalContract(runner, {
    name: "postgres",
    createPlace: createPlace((stores) => stores.journal("ses_1")),
  });
  recordStoreContract(runner, {
    name: "postgres",
    createPlace: createPlace((stores) => stores.records("forks")),
  });
});
