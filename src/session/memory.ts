import type { HookStrikes } from "../compaction/ask.ts";
import { FRESH_TRIGGER, type TriggerState } from "../compaction/trigger/should-compact.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import type { PendingCompaction } from "./background.ts";
import type { HeldCompaction } from "./hold.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { WarningCode } from "./log.ts";
import type { ProviderManagement } from "./native-block.ts";
import type { ResolvedSessionOptions } from "./options.ts";
import type { UnboundedOutputs } from "./output-limits.ts";
import { createStageMemory, type StageMemory } from "./own-stages.ts";
import type { MechanicalPlan } from "./prune.ts";
import type { RecoveryState } from "./recovery.ts";

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
  early: { readonly key: string; readonly isWanted: boolean } | undefined;
  unbounded: UnboundedOutputs;
  hookStrikes: HookStrikes;
  readonly stages: StageMemory;
  /** The mechanical edits that would pay, by what they depend on. */
  worthwhile: KnownPlan | undefined;
  /** Steps that changed nothing, by the version at which they were tried. */
  readonly spent: Map<string, number>;
  /** Finished answers of the model; their number is the number of the turn. */
  readonly answers: Set<MessageId>;
  readonly requests: Set<MessageId>;
  /** What the provider does about the window by itself. */
  management: ProviderManagement;
  /** The transcript as it was before a provider's own compaction came in. */
  beforeNative: Transcript;
  /** Warnings that are emitted only once. */
  readonly warned: Set<WarningCode>;
}

interface KnownPlan {
  readonly key: string;
  /** Of the window. */
  readonly version: number;
  readonly plan: MechanicalPlan | undefined;
}

/** Who asked for it. */
export type PendingMarker = "none" | "auto" | "manual";

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
    spent: new Map(),
    answers: new Set(),
    requests: new Set(),
    management: {},
    beforeNative: [],
    warned: new Set(),
  };
}
