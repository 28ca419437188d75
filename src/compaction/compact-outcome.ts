import type { Edit } from "../transcript/edit.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import type { DegradedReason } from "./compact-ask.ts";
import type { CompactionTrigger, NothingToCompact } from "./plan-compaction-types.ts";
import type { HookFailure, HookStrikes } from "./session-hooks.ts";

/** What came of a compaction. Nothing has been changed yet: the edits are what to do about it. */
export type CompactOutcome = Compacted | NotCompacted;

export interface Compacted extends Report {
  readonly status: "compacted";
  readonly edits: readonly Edit[];
  /** The transcript after the edits. */
  readonly messages: Transcript;
  /** The prose alone. */
  readonly summary: string;
  /** Set when no model's summary was used: why. */
  readonly degraded?: DegradedReason;
  /** What the summarizer's error said, without secrets. */
  readonly detail?: string;
  /** What is hidden now. */
  readonly archivedIds: readonly MessageId[];
  readonly firstKeptId?: MessageId;
  readonly tokensAfter: number;
}

export interface NotCompacted extends Report {
  readonly status: "unchanged";
  readonly reason: NotCompactedReason;
  /** More about the reason, without secrets. */
  readonly detail?: string;
  /** Empty, or what takes a marker back that was waiting for this compaction. */
  readonly edits: readonly Edit[];
}

/** What is told either way. */
export interface Report {
  readonly tokensBefore: number;
  /** How often the summarizer was called. */
  readonly calls: number;
  readonly hookFailures: readonly HookFailure[];
  /** To be passed to the next compaction of the session. */
  readonly hookStrikes: HookStrikes;
}

/**
 * `no-gain`: it would have saved less than a tenth; `lost-content`: a pin or the last request would have gone;
 * `already-running`: the same transcript is being compacted right now; `failed`: a port broke its contract.
 */
export type NotCompactedReason =
  | NothingToCompact["reason"]
  | "vetoed"
  | "aborted"
  | "no-gain"
  | "lost-content"
  | "already-running"
  | "failed";

/** Every start is followed by exactly one end, whatever happens in between. */
export type CompactionEvent = CompactionStart | CompactionEnd;

export interface CompactionStart {
  readonly type: "compaction_start";
  readonly trigger: CompactionTrigger;
  readonly auto: boolean;
  /** Messages that the model reads. */
  readonly before: number;
  readonly tokensBefore: number;
}

export interface CompactionEnd {
  readonly type: "compaction_end";
  readonly trigger: CompactionTrigger;
  readonly auto: boolean;
  readonly before: number;
  readonly after: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Set when nothing was compacted. */
  readonly error?: NotCompactedReason;
  readonly degraded?: DegradedReason;
}
