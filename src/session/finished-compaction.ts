import type { CompactionEnd, CompactionFailed, CompactOutcome } from "../compaction/compact.ts";
import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import type { History } from "./history.ts";

/** A compaction that was carried out, and of which nothing is in force yet. */
export interface FinishedCompaction {
  readonly trigger: CompactionTrigger;
  /** The model would still have taken the window. */
  readonly fits: boolean;
  readonly outcome: CompactOutcome;
  /** The messages when it was planned. */
  readonly plannedOn: History;
  /** Told when it is certain what is in force. */
  readonly failure: CompactionFailed | undefined;
  readonly end: CompactionEnd | undefined;
}

/** A compaction whose summary is being written while requests go on. There is at most one. */
export interface PendingCompaction {
  /** Never rejects. */
  readonly outcome: Promise<FinishedCompaction>;
  /** Gives it up; resolves when it has stopped. */
  drop(): Promise<void>;
}
