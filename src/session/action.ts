import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import type { RecoveryStep } from "../compaction/recover.ts";
import type { CompactReason } from "../compaction/trigger/should-compact.ts";
import type { CacheArithmetic } from "../stages/cache-plan.ts";
import { aMeasure, oneOf, type Shape } from "../text/check.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import type { EditBatch } from "./history.ts";

/** The one thing to do next. The session runs the first eight; the others are for the caller of the model. */
export type SessionAction =
  | TrimOutputs
  | RunStage
  | EditWindow
  | BackUpBlock
  | SummarizeToolResults
  | BeginCompaction
  | Compact
  | Recover
  | NoAction
  | LowerOutput
  | Retry
  | GiveUp;

/** Tool outputs that came in are longer than the limits: trim them before the model sees them. */
interface TrimOutputs extends Decided {
  readonly type: "trim-outputs";
  /** The outputs. */
  readonly handles: readonly Handle[];
}

/** The messages have changed: call a stage of the option `stages`. */
interface RunStage extends Decided {
  readonly type: "run-stage";
  /** Its place in the list, from 0. */
  readonly stage: number;
}

/** Edits without a model that pay for themselves, or that make a compaction unnecessary. */
export interface EditWindow extends Decided {
  readonly type: "prune" | "supersede";
  /** `pays`: for the cache that is lost; `over-limit`: instead of a compaction. */
  readonly reason: "pays" | "over-limit";
  /** What is done. */
  readonly edits: readonly Edit[];
  /** What they save against what they cost. */
  readonly arithmetic: CacheArithmetic;
  /** How many tokens have to come in before another look for such edits is worth it. */
  readonly waitTokens: number;
}

/** The provider has compacted the window by itself: keep a readable backup summary beside its block, or send that in its place. */
interface BackUpBlock extends Decided {
  readonly type: "keep-backup-summary" | "use-backup-summary";
  /** `new-block`: keep one; `unreadable`: another provider is asked now; `before-compaction`: ours would cut around the block. */
  readonly reason: "new-block" | "unreadable" | "before-compaction";
}

/** More tool results are visible than the cutoff allows, or summaries asked for earlier may have arrived. */
interface SummarizeToolResults extends Decided {
  readonly type: "summarize-tool-results";
  /** Results that the model reads now. */
  readonly visibleResults: number;
}

/** A compaction will soon be due: have its summary written while requests go on. */
interface BeginCompaction extends Decided {
  readonly type: "begin-compaction";
}

/** Replace the old part by a summary. */
interface Compact extends Decided {
  readonly type: "compact";
  /** Why it is due. */
  readonly trigger: CompactionTrigger;
  /** Set where the provider itself is asked for it, so that the thoughts in what is kept still hold. */
  readonly by?: "provider";
}

/** One step after a refusal: what is left of the failed attempt, media, or a retry step. */
export interface Recover extends Decided {
  readonly type: "recover";
  /** The step, or what is done before any. */
  readonly step: RecoveryStep | "failed-attempt" | "drop-media" | "use-backup-summary";
  /** Unset for `compact`, which asks the model. */
  readonly edits?: readonly Edit[];
}

/** Send the window as it is. */
interface NoAction {
  readonly type: "none";
  /** Why nothing is done. */
  readonly reason: IdleReason;
  /** False when the window is over its limit; the reason says why nothing is done about it. */
  readonly fits: boolean;
}

/** Send the same window again, allowing fewer tokens for the answer. */
interface LowerOutput {
  readonly type: "lower-output";
  /** What to allow for the answer. */
  readonly maxOutputTokens: number;
}

/** Send the window, which is smaller now, again. */
interface Retry {
  readonly type: "retry";
}

/** The session cannot make the request fit: tell the user. `error` is the provider's first error. */
export interface GiveUp {
  readonly type: "give-up";
  /** Why it cannot. */
  readonly reason: GiveUpReason;
  /** What to do, in a sentence. */
  readonly message: string;
  /** What the provider said first. */
  readonly error?: unknown;
}

interface Decided {
  /** The state of the session this was decided on; it is not run on another. */
  readonly version: number;
}

/** Why nothing is done. */
export type IdleReason =
  | CompactReason
  | "aborted"
  | "in-progress"
  | "after-undo"
  | "summary-failed"
  | "vetoed"
  | "host-compacts"
  | "provider-compacts"
  | "nothing-to-gain"
  | "no-messages";

/** Why the session cannot go on by itself. */
export type GiveUpReason = "does-not-fit" | "still-refused" | "auto-off" | "rate-limit-size" | "no-media";

/** What came of running an action. */
export type RunResult =
  | { readonly status: "applied"; readonly batch: EditBatch }
  /** Nothing was changed, and why. */
  | { readonly status: "nothing"; readonly reason: string }
  | { readonly status: "failed"; readonly reason: string }
  | { readonly status: "aborted" }
  /** Decided on a state that is gone: ask for the next action again. */
  | { readonly status: "stale" }
  /** Another action is being run. */
  | { readonly status: "busy" }
  /** Not an action of the session: the caller of the model has to do it. */
  | { readonly status: "for-the-caller" };

/** What the caller knows when it asks for the next action. */
export interface NextActionOptions {
  /**
   * Before the model is called (the default), or after it has answered: then edits that pay are made.
   * @default before-call
   * @when you ask after an answer, so that edits that pay are made then
   */
  readonly moment?: Moment;
  /** `manual`: a person wants a compaction now. @default none @when a person asks for a compaction */
  readonly demand?: "none" | "manual";
  /**
   * Time since the last request, where known: the provider's cache may be gone.
   * @default 0
   * @from decision 0007
   * @when you know how long the conversation rested: the cache may be gone
   */
  readonly idleMs?: number;
}

/** What a caller may know. */
export const NEXT_ACTION_SHAPE: Shape<NextActionOptions> = {
  moment: oneOf("before-call", "after-turn"),
  demand: oneOf("none", "manual"),
  idleMs: aMeasure,
};

/** When a decision is asked for: before the model is called, or after it has answered. */
export type Moment = "before-call" | "after-turn";
