export type { CleanReport } from "./stores/files/clean-outputs.ts";
export {
  type CleanOutputsOptions,
  cleanOutputs,
  createFileJournal,
  createFileOutputStore,
  createFileRecordStore,
} from "./stores/files/doors.ts";
export type { FileJournalOptions } from "./stores/files/journal.ts";
export type { FileOutputStoreOptions } from "./stores/files/output-store.ts";
export { currentProcess, type ProcessIdentity, processState } from "./stores/files/process-identity.ts";
export type { FileRecordStoreOptions } from "./stores/files/record-store.ts";
export { defaultStateFolder, type StateFolderEnvironment } from "./stores/files/state-folder.ts";
