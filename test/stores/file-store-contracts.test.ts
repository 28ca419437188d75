import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import {
  journalContract,
  outputStoreContract,
  recordStoreContract,
} from "../../src/testing/contracts/store-contracts.ts";
import { temporaryFolder } from "./temporary-folder.ts";

for (const durable of [true, false]) {
  const name = `files, ${durable ? "durable" : "quick"}`;
  const createPlace =
    <Store>(create: (root: string) => Store) =>
    async () => {
      const root = join(temporaryFolder(), "not", "yet", "there");
      const makeUnavailable = async (): Promise<void> => {
        // A folder where others write is no place of ours; nobody else need be there to try it.
        chmodSync(root, 0o1777);
      };
      return { open: () => create(root), makeUnavailable };
    };
  const runner = { describe, it };
  outputStoreContract(runner, {
    name,
    createPlace: createPlace((root) => createFileOutputStore({ root, durable })),
  });
  journalContract(runner, {
    name,
    createPlace: createPlace((root) => createFileJournal({ root, session: "ses_1", durable })),
  });
  recordStoreContract(runner, {
    name,
    createPlace: createPlace((root) => createFileRecordStore({ root, durable })),
  });
}
