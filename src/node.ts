export {
  type CleanReport,
  type CleanSpillsOptions,
  cleanSpills,
  type SpillLimits,
} from "./stores/files/clean-spills.ts";
export { currentProcess, type ProcessIdentity, processState } from "./stores/files/exclusive-access.ts";
export { defaultStateFolder, type StateFolderEnvironment } from "./stores/files/file-system.ts";
export { createFileJournal, type FileJournalOptions } from "./stores/files/journal.ts";
export { createFileRecordStore, type FileRecordStoreOptions } from "./stores/files/record-store.ts";
export { createFileSpillStore, type FileSpillStoreOptions } from "./stores/files/spill-store.ts";
