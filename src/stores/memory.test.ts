import { describe, it } from "vitest";
import { journalContract } from "../testing/contracts/journal-contract.ts";
import { recordStoreContract } from "../testing/contracts/record-store-contract.ts";
import { spillStoreContract } from "../testing/contracts/spill-store-contract.ts";
import { createMemoryJournal, createMemoryRecordStore, createMemorySpillStore } from "./memory.ts";

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
