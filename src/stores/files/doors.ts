import type { RecordStore } from "../../fork/life/record-store.ts";
import type { Journal } from "../../session/journal.ts";
import {
  anyText,
  check,
  gone,
  limitFrom,
  required,
  type Shape,
  text,
  throwProblems,
} from "../../text/check.ts";
import type { StoreFailure } from "../../text/failure.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import { type CleanReport, cleanOutputs as cleanFolder } from "./clean-outputs.ts";
import { type FileJournalOptions, createFileJournal as openJournal } from "./journal.ts";
import { type FileOutputStoreOptions, createFileOutputStore as openOutputStore } from "./output-store.ts";
import { type FileRecordStoreOptions, createFileRecordStore as openRecordStore } from "./record-store.ts";

// The stores of files as `carryover/node` has them: options are checked here, the stores themselves trust their types.

/** An output store of files that are named by the hash of their content and readable by their owner only. Removes old files by itself. */
export function createFileOutputStore(options: FileOutputStoreOptions = {}): OutputStore {
  throwProblems(check(OUTPUT_STORE_SHAPE, options));
  return openOutputStore(options);
}

/** Removes saved outputs that are too old or too many, least recently used first, but never a recent one. */
export async function cleanOutputs(options: CleanOutputsOptions): Promise<CleanReport | StoreFailure> {
  throwProblems(check({ ...OUTPUT_STORE_SHAPE, root: required(text) }, options ?? {}));
  return cleanFolder(options);
}

/** Which saved outputs are removed: those of this folder that a store with these options would remove. */
export interface CleanOutputsOptions extends FileOutputStoreOptions {
  /** The folder of the output store. */
  readonly root: string;
}

/**
 * A journal of lines with checksums. Each writer has files of its own, so that neither a crash nor another process can damage
 * what was written, and begins another one before a file gets too long. To go on, only the ends of the files are read.
 */
export function createFileJournal(options: FileJournalOptions): Journal {
  throwProblems(check(JOURNAL_SHAPE, options ?? {}));
  return openJournal(options);
}

/** A record store with a file for each record, replaced atomically under a lock; the previous copy is kept as a backup. */
export function createFileRecordStore(options: FileRecordStoreOptions): RecordStore {
  throwProblems(check(RECORD_STORE_SHAPE, options ?? {}));
  return openRecordStore(options);
}

const FIXED = gone({
  durable: "leave it out: what is written is flushed to disk",
  fs: "leave it out: files are node's",
  now: "leave it out: the time is the system's",
});

const OUTPUT_STORE_SHAPE: Shape<FileOutputStoreOptions> = {
  ...FIXED,
  ...gone({
    maxFiles: "give maxBytes",
    minAgeMs: "leave it out: what was used in the last minute stays",
    live: "give maxAgeMs",
    cleaning: "give maxAgeMs and maxBytes",
    onCleaned: "call cleanOutputs, which gives its report",
  }),
  root: text,
  maxAgeMs: limitFrom(0),
  maxBytes: limitFrom(0),
};

const JOURNAL_SHAPE: Shape<FileJournalOptions> = {
  ...FIXED,
  ...gone({ numbering: "leave it out: numbers go on behind what is read" }),
  root: required(text),
  session: required(anyText),
};

const RECORD_STORE_SHAPE: Shape<FileRecordStoreOptions> = { ...FIXED, root: required(text) };
