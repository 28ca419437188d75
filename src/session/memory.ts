import type { HookStrikes } from "../compaction/ask.ts";
import type { CompactionEnd, CompactionFailed, CompactOutcome } from "../compaction/compact.ts";
import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import { FRESH_TRIGGER, type TriggerState } from "../compaction/trigger/should-compact.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ContextEstimate } from "../transcript/estimate-context.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import type { HeldCompaction } from "./hold.ts";
import type { WarningCode } from "./log.ts";
import type { LedgerEntry } from "./metered-summarizer.ts";
import type { ResolvedSessionOptions } from "./options.ts";
import type { UnboundedOutputs } from "./output-limits.ts";
import type { MechanicalPlan } from "./prune.ts";
import type { RecoveryState } from "./recovery.ts";
import { NO_BINDINGS, type ThoughtBindings } from "./thoughts.ts";
import type { ProviderManagement } from "./window.ts";

/** What a session remembers from one moment to the next. */
export interface SessionMemory {
  /** Grows with every change of anything. */
  version: number;
  owner: "session" | "host";
  settings: ResolvedSessionOptions["settings"];
  model: ResolvedSessionOptions["model"];
  isRunning: boolean;
  trigger: TriggerState;
  recovery: RecoveryState | undefined;
  /** Compactions of a refused request since the last answer. */
  recoveryCompactions: number;
  /** An answer showed that the window was exceeded. */
  isOverflowSeen: boolean;
  isJustCompacted: boolean;
  /** What each step gained, oldest first. */
  readonly ledger: LedgerEntry[];
  /** Compactions in a row, up to now, that gained nothing while the window was full. */
  idleCompactions: number;
  /** The estimate when the last of them was made. */
  idleTokens: number;
  /** A compaction that was asked for in the transcript and has not happened yet. */
  pendingMarker: PendingMarker;
  pausedThroughTurn: number;
  /** When a person has last undone something. */
  undoneAt: number | undefined;
  /** A compaction that is due and waits, after a failed summary or a veto. */
  held: HeldCompaction | undefined;
  /** A compaction that was begun and is not in force yet. */
  background: PendingCompaction | undefined;
  /** Whether one should be begun, by what that depends on. */
  early: { readonly key: string; readonly version: number; readonly isWanted: boolean } | undefined;
  unbounded: UnboundedOutputs;
  hookStrikes: HookStrikes;
  readonly stages: StageMemory;
  /** The mechanical edits that would pay, by what they depend on. */
  worthwhile: KnownPlan | undefined;
  /** When mechanical edits could not make room; the same state has not to be looked at again. */
  insufficientKey: string | undefined;
  /** Steps that changed nothing, by the version at which they were tried. */
  readonly spent: Map<string, number>;
  /** Finished answers of the model; their number is the number of the turn. */
  readonly answers: Set<MessageId>;
  readonly requests: Set<MessageId>;
  /** What the provider does about the window by itself. */
  management: ProviderManagement;
  /** The transcript as it was before a provider's own compaction came in. */
  beforeNative: Transcript;
  /** The provider was asked to compact and did not: it is not asked again. */
  providerFailed: boolean;
  /** What the window was estimated at when it was last sent, until an answer comes; unset where nobody says that. */
  sent: { readonly estimate: ContextEstimate; readonly epoch: number } | undefined;
  /** What the thoughts of the model are bound to. */
  thoughts: ThoughtBindings;
  /** Messages come in whose edits are not in force yet. */
  isRestoring: boolean;
  /** Warnings that are emitted only once. */
  readonly warned: Set<WarningCode>;
}

/** What was planned last, and when it is worth planning again. */
export interface KnownPlan {
  readonly key: string;
  /** Of the window. */
  readonly version: number;
  readonly plan: MechanicalPlan | undefined;
  readonly isCold: boolean;
  /** How many tokens have to come in before there may be a plan, or one after it. */
  readonly lackingTokens: number;
  /** The size of the window at which they have. */
  readonly fromTokens: number;
}

/**
 * What is known of a plan now that the window may have been edited. Edits make nothing worthwhile that was not: what was
 * lacking has still to come in, also after those of the plan itself. A plan that other edits have overtaken stays, outdated.
 */
export function planAfterEdits(known: KnownPlan | undefined, now: EditedWindow): KnownPlan | undefined {
  const { version, tokens, newest } = now;
  if (known === undefined || known.version === version) return known;
  const isMade = known.plan !== undefined && known.plan.edits === newest;
  if (known.plan !== undefined && !isMade) return known;
  const fromTokens = Math.min(known.fromTokens, tokens + known.lackingTokens);
  return { ...known, version, plan: undefined, fromTokens, ...(isMade && { key: "" }) };
}

interface EditedWindow {
  readonly version: number;
  readonly tokens: number;
  /** The edits that were made last. */
  readonly newest: readonly Edit[] | undefined;
}

/** True when a step has changed nothing at this very state. */
export function isSpent({ spent, version }: SessionMemory, step: string): boolean {
  return spent.get(step) === version;
}

/** True for some turns after an edit was undone. */
export function isPaused({ answers, pausedThroughTurn }: SessionMemory): boolean {
  return answers.size <= pausedThroughTurn;
}

/** Who asked for it. */
type PendingMarker = "none" | "auto" | "manual";

/** The memory of a session that has seen nothing yet. */
export function createSessionMemory(options: ResolvedSessionOptions): SessionMemory {
  return {
    version: 0,
    owner: "session",
    settings: options.settings,
    model: options.model,
    isRunning: false,
    trigger: FRESH_TRIGGER,
    recovery: undefined,
    recoveryCompactions: 0,
    isOverflowSeen: false,
    isJustCompacted: false,
    ledger: [],
    idleCompactions: 0,
    idleTokens: 0,
    pendingMarker: "none",
    pausedThroughTurn: -1,
    undoneAt: undefined,
    held: undefined,
    background: undefined,
    early: undefined,
    unbounded: new Map(),
    hookStrikes: {},
    stages: createStageMemory(),
    worthwhile: undefined,
    insufficientKey: undefined,
    spent: new Map(),
    answers: new Set(),
    requests: new Set(),
    management: {},
    beforeNative: [],
    providerFailed: false,
    sent: undefined,
    thoughts: NO_BINDINGS,
    isRestoring: false,
    warned: new Set(),
  };
}

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

/** The step as it is journalled. */
export const RUN_STAGE = "run-stage";

/** Which stages were called, and how they did. */
interface StageMemory {
  /** The owner's messages that they were called for. */
  source: Transcript;
  /** The stage that comes next for those. */
  next: number;
  /** Stages of which a failure was told. */
  readonly told: Set<number>;
  /** How often in a row a stage took too long. */
  readonly hung: Map<number, number>;
  /** The window was edited by a stage since the last answer. */
  hasEdited: boolean;
}

/** What is known of stages that were never called. */
function createStageMemory(): StageMemory {
  return { source: [], next: 0, told: new Set(), hung: new Map(), hasEdited: false };
}
