import type { CompactionEvent } from "../compaction/compact.ts";
import { callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import { asObject } from "../text/json.ts";
import type { EditBatch } from "./history.ts";
import type { Journal } from "./journal.ts";
import type { SummaryUsage } from "./metered-summarizer.ts";
import {
  type BatchMoment,
  batchRecord,
  deltaRecord,
  type SessionRecord,
  type SnapshotRecord,
} from "./record.ts";
import type { StoredBatch } from "./state.ts";

/** Writes a session's records and emits its events, in order. A failure here is a warning and never stops the session. */
export interface SessionLog {
  /** Queues a record for the journal. */
  write(record: SessionRecord): void;
  /** Queues the record of a batch that has just been put in force. */
  writeBatch(batch: EditBatch, moment: BatchMoment): void;
  /** Takes in what a journal already holds since its last snapshot. */
  resume(entries: readonly unknown[]): void;
  /** Resolves when every record so far was written or reported as lost. */
  written(): Promise<void>;
  emit(event: SessionEvent): void;
  warn(code: WarningCode, message: string): void;
}

/** The log of a session. */
export function createSessionLog(ports: SessionLogPorts): SessionLog {
  const { journal, clock, onEvent } = ports;
  let tail: Promise<void> = Promise.resolve();
  /** What was written since the last snapshot, and how long that was. */
  let newer = { records: 0, chars: 0 };
  let snapshotChars = 0;

  function emit(event: SessionEvent): void {
    try {
      onEvent?.(event);
    } catch {
      // A listener that throws must not stop the session.
    }
  }

  function warn(code: WarningCode, message: string): void {
    emit({ type: "warning", code, message });
  }

  async function append(to: Journal, record: SessionRecord): Promise<void> {
    const start = async () => to.append(record);
    // One that keeps the state has a limit of its own.
    const limitMs = to.keeps === "state" ? STATE_LIMIT_MS : JOURNAL_LIMIT_MS;
    const result = await callWithin({ start, limitMs, clock });
    if (result.status === "done" && result.value?.status === "appended") return;
    const code =
      result.status === "done" && result.value?.status === "failed" ? result.value.code : result.status;
    warn(
      "not-journalled",
      `A ${record.type} could not be written to the journal: ${String(code).slice(0, 80)}`,
    );
  }

  function count(record: unknown, chars = JSON.stringify(record).length): void {
    const isSnapshot = asObject(record).type === "snapshot";
    if (isSnapshot) snapshotChars = chars;
    newer = isSnapshot ? NOTHING_NEWER : { records: newer.records + 1, chars: newer.chars + chars };
  }

  function write(record: SessionRecord): void {
    if (journal === undefined) return;
    tail = tail.then(() => append(journal, record));
    if (journal.keeps !== "state") return;
    count(record);
    const maxChars = Math.max(SNAPSHOT_CHARS, snapshotChars * SNAPSHOT_SHARE);
    if (newer.records >= SNAPSHOT_RECORDS || newer.chars >= maxChars) write(ports.snapshot());
  }

  return {
    write,
    writeBatch(batch, moment) {
      if (journal?.keeps === "state") write(deltaRecord(ports.store(batch), moment));
      else if (journal !== undefined) write(batchRecord(batch, moment));
    },
    resume(entries) {
      if (journal?.keeps === "state") for (const entry of entries) count(entry);
    },
    written: () => tail,
    emit,
    warn,
  };
}

interface SessionLogPorts {
  readonly journal: Journal | undefined;
  readonly clock: Clock;
  readonly onEvent: ((event: SessionEvent) => void) | undefined;
  /** A batch in force as it is stored. */
  readonly store: (batch: EditBatch) => StoredBatch;
  readonly snapshot: () => SnapshotRecord;
}

/** How long a write to the journal is waited for. */
const JOURNAL_LIMIT_MS = 10_000;
const STATE_LIMIT_MS = 60_000;

const NOTHING_NEWER = { records: 0, chars: 0 } as const;
/** A snapshot is written behind so many records, or so many characters, and at least this much more than the last one had. */
const SNAPSHOT_RECORDS = 200;
const SNAPSHOT_CHARS = 50_000;
const SNAPSHOT_SHARE = 3;

/** Something the session did or noticed. Every start is followed by exactly one end, also after an abort. */
export type SessionEvent =
  | CompactionEvent
  | ToolSummaryStart
  | ToolSummaryEnd
  | ContextChanged
  | SummaryUsed
  | SessionWarning;

/** The summarizer was called: what that used, whether or not its answer was of use. */
interface SummaryUsed extends SummaryUsage {
  readonly type: "summary_usage";
}

/** Old tool results are about to be summed up. */
interface ToolSummaryStart {
  readonly type: "tool_summary_start";
  /** Results that the model reads now. */
  readonly visibleResults: number;
}

/** Tool results were summarized, or that failed. */
export interface ToolSummaryEnd {
  readonly type: "tool_summary_end";
  /** Results that left the window. */
  readonly archivedResults: number;
  /** What failed. */
  readonly error?: string;
  /** Set when the summaries were made without the model because that failed. */
  readonly degraded?: true;
}

/** The window changed: it was edited, an edit was undone, or its owner or the model changed. */
interface ContextChanged {
  readonly type: "context_changed";
  /** The step, or `undo`, `restore`, `base` (the owner changed earlier messages), `model`, `thoughts-refused` (by the provider). */
  readonly kind: string;
  /** Why, in a word or a sentence. */
  readonly reason: string;
  /** Estimated tokens before. */
  readonly before: number;
  /** Estimated tokens now. */
  readonly after: number;
  /** Counts the changes of the context. */
  readonly epoch: number;
  /** Thoughts of the model that were sent before, and are not any more. */
  readonly thoughtsLost?: number;
}

/** Something that the session can go on with, and somebody may want to know. */
interface SessionWarning {
  readonly type: "warning";
  /** What it is about. */
  readonly code: WarningCode;
  /** The same in a sentence. */
  readonly message: string;
}

/** What a warning is about. */
export type WarningCode =
  | "compaction-gained-little"
  | "not-journalled"
  | "journal-damaged"
  | "no-usable-window"
  | "window-raised"
  | "formulas-disagree"
  | "edits-dropped"
  | "kept-let-go"
  | "message-repeated"
  | "no-messages"
  | "usage-anomaly"
  | "hook-failed"
  | "stage-failed"
  | "not-persisted"
  | "provider-not-compacting"
  | "request-not-edited"
  | "thoughts-dropped"
  | "other-conversation";

/** After this many compactions in a row without gain the session gives up. */
export const MAX_IDLE_COMPACTIONS = 2;
