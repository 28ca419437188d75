import { describe, it } from "vitest";
import {
  journalContract,
  recordStoreContract,
  spillStoreContract,
} from "../../testing/contracts/store-contracts.ts";
import { createMemoryJournal } from "./journal.ts";
import { createMemoryRecordStore } from "./record-store.ts";
import { createMemorySpillStore } from "./spill-store.ts";

const place = <Store>(store: Store) => ({ open: () => store });

spillStoreContract(
  { describe, it },
  { name: "memory", createPlace: async () => place(createMemorySpillStore()) },
);
journalContract({ describe, it }, { name: "memory", createPlace: async () => place(createMemoryJournal()) });
recordStoreContract(
  { describe, it },
  { name: "memory", createPlace: async () => place(createMemoryRecordStore()) },
);
