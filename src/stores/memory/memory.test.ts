import { describe, it } from "vitest";
import {
  journalContract,
  outputStoreContract,
  recordStoreContract,
} from "../../testing/contracts/store-contracts.ts";
import { createMemoryJournal } from "./journal.ts";
import { createMemoryOutputStore } from "./output-store.ts";
import { createMemoryRecordStore } from "./record-store.ts";

const place = <Store>(store: Store) => ({ open: () => store });

outputStoreContract(
  { describe, it },
  { name: "memory", createPlace: async () => place(createMemoryOutputStore()) },
);
journalContract({ describe, it }, { name: "memory", createPlace: async () => place(createMemoryJournal()) });
recordStoreContract(
  { describe, it },
  { name: "memory", createPlace: async () => place(createMemoryRecordStore()) },
);
