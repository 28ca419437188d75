import { callListener, callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import { errorText } from "../compaction/summary/text.ts";
import { asObject } from "../text/unknown-value.ts";
import type { SessionEvent, WarningCode } from "./events.ts";
import type { EditBatch } from "./history.ts";
import type { Journal } from "./journal.ts";
import { type BatchFigures, deltaRecord, type SessionRecord, type SnapshotRecord } from "./record.ts";
import type { StoredBatch } from "./stored-state.ts";

/**
 * Writes a session's records and emits its events, in order. A failure here is a warning and never stops the session: what
 * could not be written is in a snapshot that is written at the next boundary.
 */
export interface SessionLog {
  /** Queues a record for the journal. */
  write(record: SessionRecord): void;
  /** Queues the record of a batch that has just been put in force. */
  writeBatch(batch: EditBatch, figures: BatchFigures): void;
  /** Queues a record of everything that is in force. */
  writeSnapshot(): void;
  /** Writes again what could not be written; nobody has to wait for it. */
  writeAgain(): void;
  /** Takes in what a journal already holds from its last snapshot on, and why it could not be read where that failed. */
  resume(entries: readonly unknown[], problem?: string): void;
  /** Resolves when every record so far was written, or is not waited for any more. */
  written(): Promise<void>;
  /** The batches that are not known to be in the journal, oldest first. */
  unsaved(): readonly string[];
  emit(event: SessionEvent): void;
  warn(code: WarningCode, message: string): void;
}

/** The log of a session. */
export function createSessionLog(ports: SessionLogPorts): SessionLog {
  const { journal, clock, onEvent } = ports;
  const limitMs = journal?.limitMs ?? WRITE_LIMIT_MS;
  let tail: Promise<void> = Promise.resolve();
  /** Unset once a write was not answered in time, until one is: so a journal that hangs holds up one request in all. */
  let isWaitedFor = true;
  let isTold = false;
  /** Writes are numbered. Those up to `sent` are in a snapshot that was sent, those up to `saved` in one that is safe. */
  let newest = 0;
  let sent = 0;
  let saved = 0;
  /** Writes that failed, or were not answered yet when the next one was due. */
  const missing = new Set<number>();
  const unsaved = new Map<string, number>();
  /** What was written since the last snapshot, and how long that was. */
  let newer: { readonly records: number; readonly chars: number } = NOTHING_NEWER;
  let snapshotChars = 0;

  function emit(event: SessionEvent): void {
    callListener(() => onEvent?.(event));
  }

  function warn(code: WarningCode, message: string): void {
    emit({ type: "warning", code, message });
  }

  /** Told once, and again only after everything was written. */
  function tell(what: string): void {
    if (isTold) return;
    isTold = true;
    warn(journal?.keeps === "state" ? "not-persisted" : "not-journalled", what);
  }

  function count(record: unknown): void {
    const chars = JSON.stringify(record).length;
    const isSnapshot = asObject(record).type === "snapshot";
    if (isSnapshot) snapshotChars = chars;
    newer = isSnapshot ? NOTHING_NEWER : { records: newer.records + 1, chars: newer.chars + chars };
  }

  /** Sends a record; where one before it is missing, a snapshot in its place, so that no record is built on a gap. */
  async function send(to: Journal, number: number, record: SessionRecord | "snapshot"): Promise<void> {
    if (number <= sent) return;
    const isSnapshot = record === "snapshot" || missing.size > 0;
    const upTo = isSnapshot ? newest : number;
    const given = isSnapshot ? ports.snapshot() : record;
    if (isSnapshot) {
      sent = upTo;
      count(given);
    }
    const startedAt = clock.now();
    let isAnswered = false;
    const work = append(to, given).then((problem) => {
      isAnswered = true;
      if (clock.now() - startedAt <= limitMs) isWaitedFor = true;
      if (problem !== undefined) {
        if (number > saved) missing.add(number);
        tell(`What was done could not be written and is written again: ${problem.slice(0, 200)}`);
      } else if (number <= saved) {
        // It came so late that it may stand behind the snapshot that was written in its place.
        missing.add(++newest);
      } else noteSaved(isSnapshot ? (other) => other <= upTo : (other) => other === number);
      if (problem === undefined && isSnapshot) saved = Math.max(saved, upTo);
    });
    if (isWaitedFor) {
      await callWithin({ start: () => work, limitMs, clock });
      isWaitedFor = isAnswered;
      if (!isAnswered) tell(`What was done is not written yet: no answer within ${limitMs} ms`);
    }
    if (!isAnswered) missing.add(number);
  }

  function noteSaved(isSaved: (number: number) => boolean): void {
    for (const number of missing) if (isSaved(number)) missing.delete(number);
    for (const [id, number] of unsaved) if (isSaved(number)) unsaved.delete(id);
    if (missing.size === 0) isTold = false;
  }

  function queue(record: SessionRecord | "snapshot"): number {
    const number = ++newest;
    if (journal !== undefined) tail = tail.then(() => send(journal, number, record));
    return number;
  }

  function write(record: SessionRecord): number {
    const number = queue(record);
    if (journal === undefined) return number;
    count(record);
    const { records, chars } = newer;
    const isLarge = chars >= Math.max(SNAPSHOT_CHARS, snapshotChars * SNAPSHOT_SHARE);
    if (isLarge || (records >= SNAPSHOT_RECORDS && chars >= snapshotChars)) writeSnapshot();
    return number;
  }

  function writeSnapshot(): void {
    newer = NOTHING_NEWER;
    queue("snapshot");
  }

  return {
    write,
    writeBatch(batch, figures) {
      if (journal !== undefined) unsaved.set(batch.id, write(deltaRecord(ports.store(batch), figures)));
    },
    writeSnapshot,
    writeAgain() {
      if (missing.size > 0) writeSnapshot();
    },
    resume(entries, problem) {
      for (const entry of entries) count(entry);
      if (problem === undefined || journal?.keeps !== "state") return;
      isWaitedFor = false;
      tell(`What was persisted could not be loaded: ${problem.slice(0, 200)}`);
    },
    written: () => tail,
    unsaved: () => [...unsaved.keys()],
    emit,
    warn,
  };
}

interface SessionLogPorts {
  readonly journal: Journal | undefined;
  readonly clock: Clock;
  readonly onEvent: ((event: SessionEvent) => unknown) | undefined;
  /** A batch in force as it is stored. */
  readonly store: (batch: EditBatch) => StoredBatch;
  readonly snapshot: () => SnapshotRecord;
}

/** Why a record could not be written; undefined once it is safe. */
async function append(journal: Journal, record: SessionRecord): Promise<string | undefined> {
  try {
    const answer = await journal.append(record);
    if (answer?.status === "appended") return undefined;
    return answer?.status === "failed" ? `${answer.code}: ${answer.reason}` : "the journal answers nonsense";
  } catch (error) {
    return errorText(error);
  }
}

/** How long a write to the journal is waited for. */
const WRITE_LIMIT_MS = 2_000;

const NOTHING_NEWER = { records: 0, chars: 0 } as const;
/**
 * A snapshot is written behind so many records, or so many characters, and never before what is new is as long as the last
 * snapshot: so all of them together are at most three times as long as the records.
 */
const SNAPSHOT_RECORDS = 200;
const SNAPSHOT_CHARS = 50_000;
const SNAPSHOT_SHARE = 3;
