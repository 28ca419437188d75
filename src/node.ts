export {
  type CleanReport,
  type CleanSpillsOptions,
  cleanSpills,
  type SpillLimits,
} from "./stores/files/clean-spills.ts";
export { defaultStateFolder, type StateFolderEnvironment } from "./stores/files/default-state-folder.ts";
export { createFileJournal, type FileJournalOptions } from "./stores/files/file-journal.ts";
export { createFileRecordStore, type FileRecordStoreOptions } from "./stores/files/file-record-store.ts";
export { createFileSpillStore, type FileSpillStoreOptions } from "./stores/files/file-spill-store.ts";
export { currentProcess, type ProcessIdentity, processState } from "./stores/files/process-identity.ts";
