import type { HookStrikes } from "../compaction/ask-hooks.ts";
import type { CompactionSettings } from "../compaction/trigger/compaction-settings.ts";
import type { ModelLimits } from "../compaction/trigger/overflow.ts";
import type { MessageId, ModelRef, Transcript } from "../transcript/message.ts";
import { EMPTY_HISTORY, type History } from "./history.ts";
import type { HeldCompaction } from "./hold.ts";
import type { LearnedWindow } from "./learned-window.ts";
import type { LedgerEntry } from "./ledger.ts";
import { FRESH_MEASURE, type MeasureState, withOverhead } from "./measure.ts";
import type { ResolvedSessionOptions } from "./options.ts";
import type { PendingSummary } from "./pending-summaries.ts";
import type { RecoveryState } from "./recovery.ts";
import { NO_BINDINGS, type ThoughtBindings } from "./thoughts.ts";
import type { ProviderManagement } from "./window.ts";

/**
 * Everything that a decision reads. A value: `reduce` gives the next one, and nothing changes one that was given out. What
 * follows from it (the window, its size, its limit) is computed in `view.ts`, and is not in here.
 */
export interface SessionState {
  /** The owner's messages, and the batches of edits in force. */
  readonly history: History;
  /** Who keeps the messages: a host that gives whole lists also compacts where a marker asks for it. */
  readonly owner: "session" | "host";
  readonly model: ModelRef | undefined;
  /** What was said of the model's window; the rest is what is known of the model. */
  readonly limits: Partial<ModelLimits>;
  readonly settings: CompactionSettings;
  /** What the provider does about the window by itself. */
  readonly management: ProviderManagement;

  /** Grows with every change that a decision may depend on; an action says on which version it was decided. */
  readonly version: number;
  /** Finished answers of the model. */
  readonly turn: number;
  /** Messages that came in or were changed. */
  readonly arrivals: number;
  /** Batches that were ever made: a part of their ids, since a clock may stand still. */
  readonly batchCount: number;

  /** What was learned of how the provider counts, and since when usage holds. */
  readonly measure: MeasureState;
  /** What refusals and answers have shown of the models' windows. */
  readonly windows: readonly LearnedWindow[];
  /** What the thoughts of the model are bound to. Those that came since the last edit are not in it yet. */
  readonly thoughts: ThoughtBindings;
  /** The epoch in which the window was sent, where the owner says so, until the answer comes. */
  readonly sentIn: number | undefined;

  /** No automatic compaction up to this turn: the last one gained little. */
  readonly coolDownThroughTurn: number | undefined;
  /** A compaction that is due and waits, after a failed summary or a veto. */
  readonly held: HeldCompaction | undefined;
  /** Compactions in a row that gained nothing, and the estimate at the last of them. */
  readonly idle: { readonly count: number; readonly tokens: number };
  /** A compaction whose summary is being written while requests go on. */
  readonly begun: BegunCompaction | undefined;
  readonly hookStrikes: HookStrikes;
  /** The window was compacted since the last answer. */
  readonly isJustCompacted: boolean;
  /** The answer that showed that the window was exceeded, once something was done about it. */
  readonly dealtWith: MessageId | undefined;
  /** Where the next look for edits without a model is worth its time. */
  readonly watermarks: Watermarks;
  /** Tool summaries that were asked for and are not in the window yet. */
  readonly pending: readonly PendingSummary[];

  /** The provider was asked to compact and did not: it is not asked again. */
  readonly providerFailed: boolean;
  /** The transcript before a provider's own compaction came in, until a backup summary is made of it. Not stored: its owner has taken it away. */
  readonly beforeProviderBlock: Transcript;

  /** A refused request, until an answer or another request. */
  readonly recovery: RecoveryState | undefined;
  /** Compactions of a refused request since the last answer. */
  readonly recoveryCompactions: number;
  /** An edit was undone: nothing is done automatically up to this turn. */
  readonly pausedThroughTurn: number;
  /** The step that was undone last. */
  readonly undoneStep: string | undefined;
  /** Which of the user's own stages were called. */
  readonly stages: StageState;
  /** Steps that changed nothing, by the version at which they were tried. */
  readonly spent: Readonly<Record<string, number>>;
  /** What each step gained, oldest first. */
  readonly ledger: readonly LedgerEntry[];
}

/** A compaction that was begun before it was due. What it was planned on can be read again from this, also after a restart. */
export interface BegunCompaction {
  /** How many messages there were. */
  readonly messages: number;
  /** The first so many of them hold everything that is folded. */
  readonly folded: number;
  /** The newest batch then in force. */
  readonly batchId: string | undefined;
  /** By which the window was measured. */
  readonly measure: MeasureState;
  /** What was known then of the models' windows. */
  readonly windows: readonly LearnedWindow[];
}

/** When it is worth looking for edits without a model again; each look reads the whole window. */
export interface Watermarks {
  /** Nothing pays below this size, while the provider's cache is as warm as it was then. */
  readonly pays?: {
    readonly fromTokens: number;
    /** How many tokens had to come in. */
    readonly lackingTokens: number;
    readonly isCold: boolean;
  };
  /** Below this size edits cannot make a compaction needless. */
  readonly enoughFromTokens?: number;
  /** Edits will make the next compaction unnecessary: no summary has to be written early. */
  readonly editsWillDo?: true;
}

/** Which of the user's own stages were called, and how they did. */
export interface StageState {
  /** `arrivals` when the last one was called. */
  readonly arrivals: number;
  /** The stage that comes next for those messages. */
  readonly next: number;
  /** How often in a row a stage took too long. */
  readonly hung: Readonly<Record<number, number>>;
}

/** The step of a stage of the user's own, as it is journalled. */
export const RUN_STAGE = "run-stage";

const NO_MANAGEMENT: ProviderManagement = {};

/** The state of a session that has seen nothing yet. */
export function initialState(options: ResolvedSessionOptions): SessionState {
  const { model, limits, settings } = options;
  return {
    history: EMPTY_HISTORY,
    owner: "session",
    model,
    limits,
    settings,
    management: NO_MANAGEMENT,
    version: 0,
    turn: 0,
    arrivals: 0,
    batchCount: 0,
    measure: withOverhead(FRESH_MEASURE, options),
    windows: [],
    thoughts: NO_BINDINGS,
    sentIn: undefined,
    coolDownThroughTurn: undefined,
    held: undefined,
    idle: { count: 0, tokens: 0 },
    begun: undefined,
    hookStrikes: {},
    isJustCompacted: false,
    dealtWith: undefined,
    watermarks: {},
    pending: [],
    providerFailed: false,
    beforeProviderBlock: [],
    recovery: undefined,
    recoveryCompactions: 0,
    pausedThroughTurn: -1,
    undoneStep: undefined,
    stages: { arrivals: -1, next: 0, hung: {} },
    spent: {},
    ledger: [],
  };
}

/** True when a step has changed nothing at this very state. */
export function isSpent({ spent, version }: SessionState, step: string): boolean {
  return spent[step] === version;
}

/** True for some turns after an edit was undone. */
export function isPaused({ turn, pausedThroughTurn }: SessionState): boolean {
  return turn <= pausedThroughTurn;
}
