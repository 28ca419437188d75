import type { HookStrikes } from "../compaction/session-hooks.ts";
import { FRESH_TRIGGER, type TriggerState } from "../compaction/should-compact-trigger-state.ts";
import type { PendingToolSummary } from "../compaction/tool-summary-work.ts";
import type { MessageId } from "../transcript/message.ts";
import type { MechanicalPlan } from "./mechanical-edits.ts";
import type { RecoveryState } from "./recovery-state.ts";
import type { WarningCode } from "./session-event.ts";
import type { KnownSessionOptions } from "./session-options.ts";
import { NOTHING_UNBOUNDED, type UnboundedOutputs } from "./unbounded-outputs.ts";

/** What a session remembers from one moment to the next. */
export interface SessionMemory {
  /** Grows with every change of anything. */
  version: number;
  owner: "session" | "host";
  settings: KnownSessionOptions["settings"];
  limits: KnownSessionOptions["limits"];
  model: KnownSessionOptions["model"];
  isRunning: boolean;
  trigger: TriggerState;
  recovery: RecoveryState | undefined;
  /** Recoveries by the model since it last said something. */
  recoveryCompactions: number;
  /** An answer showed that the window was exceeded. */
  isOverflowSeen: boolean;
  isJustCompacted: boolean;
  /** A compaction that was asked for in the transcript and has not happened yet. */
  pendingMarker: PendingMarker;
  heldThroughTurn: number;
  unbounded: UnboundedOutputs;
  pendingSummaries: readonly PendingToolSummary[];
  hookStrikes: HookStrikes;
  /** The mechanical edits that would pay, by what they depend on. */
  paying: { readonly key: string; readonly plan: MechanicalPlan | undefined } | undefined;
  /** Steps that changed nothing, by the version at which they were tried. */
  readonly spent: Map<string, number>;
  /** Finished answers of the model; their number is the number of the turn. */
  readonly answers: Set<MessageId>;
  readonly requests: Set<MessageId>;
  /** What was said once and need not be said again. */
  readonly warned: Set<WarningCode>;
}

/** Who asked for it. */
export type PendingMarker = "none" | "auto" | "manual";

/** The memory of a session that has seen nothing yet. */
export function createSessionMemory(options: KnownSessionOptions): SessionMemory {
  return {
    version: 0,
    owner: "session",
    settings: options.settings,
    limits: options.limits,
    model: options.model,
    isRunning: false,
    trigger: FRESH_TRIGGER,
    recovery: undefined,
    recoveryCompactions: 0,
    isOverflowSeen: false,
    isJustCompacted: false,
    pendingMarker: "none",
    heldThroughTurn: -1,
    unbounded: NOTHING_UNBOUNDED,
    pendingSummaries: [],
    hookStrikes: {},
    paying: undefined,
    spent: new Map(),
    answers: new Set(),
    requests: new Set(),
    warned: new Set(),
  };
}
