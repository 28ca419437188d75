import type { CompactionTrigger } from "../compaction/plan-compaction-types.ts";
import type { RecoveryRung } from "../compaction/recovery-ladder.ts";
import type { CompactReason } from "../compaction/should-compact.ts";
import type { CacheArithmetic } from "../stages/plan-edits.ts";
import type { Edit, Handle } from "../transcript/edit.ts";

/** The one thing to do next. The session runs the first five; the others are for whoever calls the model. */
export type SessionAction =
  | BoundOutputs
  | EditWindow
  | SummarizeToolResults
  | Compact
  | Recover
  | NoAction
  | LowerOutput
  | Retry
  | GiveUp;

/** Tool outputs that came in are longer than the limits: bound them before the model sees them. */
export interface BoundOutputs extends Decided {
  readonly type: "bound-outputs";
  readonly handles: readonly Handle[];
}

/** Mechanical edits that pay for themselves, or that spare a compaction. */
export interface EditWindow extends Decided {
  readonly type: "prune" | "supersede";
  readonly reason: "pays" | "over-limit";
  readonly edits: readonly Edit[];
  /** What they save against what they cost. */
  readonly arithmetic: CacheArithmetic;
}

/** More tool results are visible than the cutoff allows, or summaries asked for earlier may have arrived. */
export interface SummarizeToolResults extends Decided {
  readonly type: "summarize-tool-results";
  readonly visibleResults: number;
}

/** Replace the old part by a summary. */
export interface Compact extends Decided {
  readonly type: "compact";
  readonly trigger: CompactionTrigger;
}

/** One step after a refusal: what is left of the failed attempt, media, or a rung of the ladder. */
export interface Recover extends Decided {
  readonly type: "recover";
  readonly step: RecoveryRung | "failed-attempt" | "drop-media";
  /** Unset for `compact`, which asks the model. */
  readonly edits?: readonly Edit[];
}

/** Send the window as it is. */
export interface NoAction {
  readonly type: "none";
  readonly reason: IdleReason;
  /** False when the window is over its limit all the same; the reason says why nothing is done. */
  readonly fits: boolean;
}

/** Send the same window again, allowing fewer tokens for the answer. */
export interface LowerOutput {
  readonly type: "lower-output";
  readonly maxOutputTokens: number;
}

/** Send the window, which is smaller now, again. */
export interface Retry {
  readonly type: "retry";
}

/** Nothing more can be done here: tell the user. `error` is what the provider said first. */
export interface GiveUp {
  readonly type: "give-up";
  readonly reason: GiveUpReason;
  readonly message: string;
  readonly error?: unknown;
}

interface Decided {
  /** The state of the session this was decided on; it is not run on another. */
  readonly version: number;
}

export type IdleReason =
  | CompactReason
  | "aborted"
  | "in-progress"
  | "after-undo"
  | "host-compacts"
  | "nothing-to-gain";

export type GiveUpReason =
  | "no-gain"
  | "does-not-fit"
  | "still-refused"
  | "auto-off"
  | "rate-limit-size"
  | "no-media";
