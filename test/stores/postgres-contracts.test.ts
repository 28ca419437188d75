import { describe, it } from "vitest";
import type { PostgresStores } from "../../src/stores/postgres/stores.ts";
import {
  journalContract,
  outputStoreContract,
  recordStoreContract,
} from "../../src/testing/contracts/store-contracts.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();

/** Port 1 is nobody's. */
const NOWHERE = { connectionString: "postgres://agent@127.0.0.1:1/none", retryMs: 0 };

describe.skipIf(postgres === undefined)("with a real server", () => {
  const createPlace =
    <Store>(store: (stores: PostgresStores) => Store) =>
    async () => {
      const schema = postgres?.newSchema() ?? "";
      let isAway = false;
      return {
        open(): Store {
          if (postgres === undefined) throw new Error("no server");
          return store(postgres.open(schema, isAway ? NOWHERE : {}));
        },
        async makeUnavailable() {
          isAway = true;
        },
      };
    };
  const runner = { describe, it };
  outputStoreContract(runner, { name: "postgres", createPlace: createPlace(({ outputs }) => outputs) });
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
});
