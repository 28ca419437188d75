import type { CompactionEnd, CompactionFailed, CompactOutcome } from "../compaction/compact.ts";
import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";

/**
 * A compaction that was begun before it was due, while requests go on. There is at most one. What comes in meanwhile stays
 * behind the summary; it is put in force when it is due, and dropped when what it speaks of is no longer there.
 */
export interface PendingCompaction {
  /** Resolves when there is an outcome; never rejects. */
  readonly done: Promise<void>;
  /** Gives it up. */
  readonly stop: () => void;
  /** What it was planned on. */
  readonly then: PlannedOn;
  /** What its summary stands for. */
  readonly foldedIds: ReadonlySet<MessageId>;
  /** Set when there is a summary that can be put in force. */
  finished: FinishedCompaction | undefined;
}

/** The messages at the time a compaction was planned, with and without edits. */
export interface PlannedOn {
  readonly transcript: Transcript;
  readonly source: Transcript;
}

/** A compaction that was carried out, and of which nothing is in force yet. */
export interface FinishedCompaction {
  readonly trigger: CompactionTrigger;
  /** The model would still have taken the window. */
  readonly fits: boolean;
  readonly outcome: CompactOutcome;
  readonly then: PlannedOn;
  /** Told when it is certain what is in force. */
  readonly failure: CompactionFailed | undefined;
  readonly end: CompactionEnd | undefined;
}
