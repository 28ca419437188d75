export type { CleanReport } from "./stores/files/clean-spills.ts";
export {
  type CleanSpillsOptions,
  cleanSpills,
  createFileJournal,
  createFileRecordStore,
  createFileSpillStore,
} from "./stores/files/doors.ts";
export type { FileJournalOptions } from "./stores/files/journal.ts";
export { currentProcess, type ProcessIdentity, processState } from "./stores/files/process-identity.ts";
export type { FileRecordStoreOptions } from "./stores/files/record-store.ts";
export type { FileSpillStoreOptions } from "./stores/files/spill-store.ts";
export { defaultStateFolder, type StateFolderEnvironment } from "./stores/files/state-folder.ts";
