import type { HookStrikes } from "../compaction/ask-hooks.ts";
import type { CompactionTrigger } from "../compaction/plan/plan-compaction.ts";
import type { ProviderErrorReport } from "../compaction/provider-errors/classify-provider-error.ts";
import type { CompactionSettings } from "../compaction/trigger/compaction-settings.ts";
import type { ModelLimits } from "../compaction/trigger/overflow.ts";
import { afterCompaction, COOL_DOWN_TURNS } from "../compaction/trigger/should-compact.ts";
import { deepEqual } from "../text/deep-equal.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import { clearedAtOf } from "../transcript/estimate-context.ts";
import {
  commonLength,
  type Message,
  type MessageId,
  type ModelRef,
  type Transcript,
  typedText,
  type Usage,
} from "../transcript/message.ts";
import type { Recover } from "./action.ts";
import { foldHistory, isFolded } from "./fold.ts";
import {
  appendMessage,
  type EditBatch,
  type History,
  type HistoryChange,
  observeMessages,
  withBatch,
  withBatches,
  withoutBatch,
} from "./history.ts";
import { holdAfter } from "./hold.ts";
import { enterStep, type LedgerEntry } from "./ledger.ts";
import {
  beginEpoch,
  type PromptOverhead,
  scaledFor,
  startByTimes,
  withOverhead,
  withoutUsageOf,
} from "./measure.ts";
import {
  limitsOf,
  mayShowWindow,
  showsLargerWindow,
  windowsAfterAnswer,
  windowsAfterRefusal,
  withRaisedWindow,
} from "./model-window.ts";
import type { PendingSummary } from "./pending-summaries.ts";
import { afterRefusal, afterStep } from "./recovery.ts";
import { RUN_STAGE, type SessionState, type Watermarks } from "./state.ts";
import { refuseThoughts, sendThoughts } from "./thoughts.ts";
import { factsToMeasure, type SessionSetup, type SessionView, viewOf } from "./view.ts";
import {
  isBackupBatch,
  isFinishedAnswer,
  type ProviderManagement,
  placedProviderBlock,
  windowOf,
} from "./window.ts";

/** Something that happened to a session. */
export type SessionChange =
  /** The next message came in, or one with a known id in place of that. */
  | { readonly type: "appended"; readonly message: Message }
  /** The owner gave all messages as they are now. */
  | { readonly type: "observed"; readonly transcript: Transcript }
  /** A stored session is gone on with, on the messages as its owner has them now. */
  | {
      readonly type: "restored";
      readonly from: SessionState;
      readonly transcript: Transcript;
      /** The last message that it had taken in, where more of it is there now. */
      readonly grown?: Message;
    }
  /** The window is being sent as it is. */
  | { readonly type: "sent" }
  | EditsMade
  /** The newest batch was taken back. */
  | { readonly type: "undone"; readonly at: number; readonly summaryUsage?: Usage }
  /** A step changed nothing. */
  | { readonly type: "noted"; readonly entry: LedgerEntry }
  /** A step has nothing to do at this state, and is not tried again until something changes. */
  | { readonly type: "spent"; readonly step: string }
  /** Where looking for edits without a model is worth it again. */
  | { readonly type: "looked"; readonly watermarks: Watermarks }
  | CompactionOver
  /** A summary is being written while requests go on. */
  | {
      readonly type: "compaction-begun";
      /** What it will fold. */
      readonly replacedIds: readonly MessageId[];
    }
  | { readonly type: "compaction-dropped" }
  | { readonly type: "provider-failed" }
  /** Tool summaries were asked for, have arrived, or are in the window. */
  | { readonly type: "summaries-pending"; readonly pending: readonly PendingSummary[] }
  | StageCalled
  | RequestRefused
  | {
      readonly type: "recovery-advanced";
      readonly step: Recover["step"];
      readonly outcome: "applied" | "nothing";
    }
  /** The provider does not take thoughts back. */
  | { readonly type: "thoughts-refused"; readonly reason: string }
  /** A person has changed a setting. */
  | {
      readonly type: "settings-changed";
      readonly settings: CompactionSettings;
      /** Whether compactions happen by themselves was said, be it as before. */
      readonly isAuto: boolean;
    }
  | { readonly type: "model-changed"; readonly model: ModelRef; readonly limits: Partial<ModelLimits> }
  | { readonly type: "management-changed"; readonly management: ProviderManagement }
  | { readonly type: "overhead-changed"; readonly overhead: PromptOverhead };

/** Edits were decided, and are put in force as one batch. */
interface EditsMade {
  readonly type: "edited";
  readonly step: string;
  readonly reason: string;
  readonly at: number;
  readonly edits: readonly Edit[];
  /** Set when the model has not seen yet what is edited: then its usage still counts. */
  readonly unseen?: true;
  readonly degraded?: true;
  /** How many tokens have to come in before another look for such edits is worth it. */
  readonly waitTokens?: number;
  /** What the calls of the summarizer used for it. */
  readonly summaryUsage?: Usage;
}

/** A compaction has ended, whatever came of it. */
interface CompactionOver {
  readonly type: "compaction-over";
  readonly trigger: CompactionTrigger;
  /** `applied`, or why not. */
  readonly result: string;
  /** The model would still have taken the window. */
  readonly fits: boolean;
  readonly hookStrikes: HookStrikes;
}

/** A stage of the user's own is called for the messages as they are, or has answered. */
interface StageCalled {
  readonly type: "stage-called";
  readonly arrivals: number;
  readonly next: number;
  /** How often in a row stages took too long, where that is known now. */
  readonly hung?: Readonly<Record<number, number>>;
}

/** The provider refused the request, or answered nothing because the window is full. */
interface RequestRefused {
  readonly type: "refused";
  readonly report: ProviderErrorReport;
  readonly error: unknown;
}

/** The state after a change; the same state where that changes nothing. */
export function reduce(state: SessionState, change: SessionChange, setup: SessionSetup): SessionState {
  const view = viewOf(state, setup);
  switch (change.type) {
    case "appended":
      return afterMessages(view, appendMessage(state.history, change.message), setup);
    case "observed": {
      const next = afterAll(state, observeMessages(state.history, change.transcript), setup);
      return next.owner === "host" ? next : { ...next, owner: "host" };
    }
    case "restored": {
      const { transcript, grown } = change;
      const from =
        grown === undefined
          ? change.from
          : withMessage(changed(change.from, { arrivals: change.from.arrivals + 1 }), grown, {
              earlier: new Map(),
              setup,
            });
      return afterAll(from, observeMessages(from.history, transcript), setup);
    }
    case "sent":
      return {
        ...state,
        sentIn: state.measure.epoch,
        thoughts: sendThoughts(view.bound, {
          reading: view.window.thoughts,
          source: state.history.messages,
        }),
      };
    case "edited":
      return afterEdits(view, change, setup);
    case "undone":
      return afterUndo(view, change, setup);
    case "noted":
      return withEntry(view, change.entry);
    case "spent":
      return { ...state, spent: { ...state.spent, [change.step]: state.version } };
    case "looked":
      return deepEqual(change.watermarks, state.watermarks)
        ? state
        : { ...state, watermarks: change.watermarks };
    case "compaction-over":
      return afterCompactionOver(view, change);
    case "compaction-begun": {
      const { messages } = state.history;
      const folded = new Set(change.replacedIds);
      return changed(state, {
        begun: {
          messages: messages.length,
          folded: messages.findLastIndex(({ id }) => folded.has(id)) + 1,
          batchId: state.history.batches.at(-1)?.id,
          measure: state.measure,
          windows: state.windows,
        },
      });
    }
    case "compaction-dropped":
      return state.begun === undefined ? state : changed(state, { begun: undefined });
    case "provider-failed":
      return { ...state, providerFailed: true };
    case "summaries-pending": {
      const { pending } = change;
      const isAnswered = pending.some((each) => each.answer !== undefined || each.failed !== undefined);
      // What was tried without the answer is worth trying again.
      return isAnswered ? changed(state, { pending }) : { ...state, pending };
    }
    case "stage-called": {
      const { arrivals, next, hung } = change;
      return { ...state, stages: { arrivals, next, hung: { ...state.stages.hung, ...hung } } };
    }
    case "refused":
      return afterRefused(view, change, setup);
    case "recovery-advanced": {
      const { recovery, recoveryCompactions } = state;
      const { step, outcome } = change;
      // A new request or an answer that came in meanwhile has ended the recovery.
      if (recovery === undefined) return state;
      return changed(state, {
        recovery: afterStep(recovery, step, outcome),
        recoveryCompactions: recoveryCompactions + (step === "compact" && outcome === "applied" ? 1 : 0),
      });
    }
    case "thoughts-refused":
      return afterThoughtsRefused(view, setup);
    case "settings-changed": {
      const { settings, isAuto } = change;
      return changed(state, {
        settings,
        ...(isAuto && { recovery: undefined, held: undefined, begun: undefined }),
      });
    }
    case "model-changed":
      return afterModelChanged(view, change, setup);
    case "management-changed":
      return deepEqual(change.management, state.management)
        ? { ...state, management: change.management }
        : changed(state, { management: change.management });
    case "overhead-changed": {
      const measure = withOverhead(state.measure, change.overhead);
      return deepEqual(measure, state.measure) ? state : changed(state, { measure });
    }
    default:
      return change satisfies never;
  }
}

/** The state with something else that a decision may depend on. */
function changed(state: SessionState, parts: Partial<SessionState>, versions = 1): SessionState {
  return { ...state, ...parts, version: state.version + versions };
}

/** What was found out about edits of the window holds no longer, or only in part: its beginning is another one. */
function watermarksAfter({ watermarks }: SessionState, after: SessionView, waitTokens?: number): Watermarks {
  const { tokens } = after.measure;
  const { pays } = watermarks;
  if (waitTokens !== undefined)
    return {
      pays: {
        fromTokens: tokens + waitTokens,
        lackingTokens: waitTokens,
        isCold: pays?.isCold ?? false,
      },
    };
  // Edits make nothing worthwhile that was not: what was lacking has still to come in.
  return pays === undefined
    ? {}
    : { pays: { ...pays, fromTokens: Math.min(pays.fromTokens, tokens + pays.lackingTokens) } };
}

/** The state in a new epoch, since the window is another one: usage that was counted before does not hold any more. */
function inNewEpoch(before: SessionView, next: SessionState, setup: SessionSetup): SessionState {
  const { window } = viewOf(next, setup);
  const measure = beginEpoch(next.measure, { ended: before.window, begun: window }, factsToMeasure(before));
  return { ...next, measure: scaledFor(measure, next.model) };
}

/** A compaction that had to wait, or gained nothing, starts anew where the window was emptied by other means. */
function withoutNeedlessWaits(state: SessionState, setup: SessionSetup): SessionState {
  if (state.held === undefined && state.idle.count === 0) return state;
  const { isFull, knownLimits, window } = viewOf(state, setup);
  if (isFull) return state;
  const { maxMessages } = state.settings;
  // Messages count where no number of tokens is a limit.
  const isCounted = maxMessages > 0 && knownLimits.tokenLimit.limitTokens === undefined;
  const isOver = isCounted && window.marked.length >= maxMessages;
  return { ...state, idle: NEVER_IDLE, held: isOver ? state.held : undefined };
}

/**
 * Takes in what the owner of the messages changed. Answers that may show how large the window is are taken in one after
 * another, as if each had come alone: what one shows depends on what was known before it.
 */
function afterAll(state: SessionState, change: HistoryChange, setup: SessionSetup): SessionState {
  const { history, extent, changed: fresh } = change;
  const model = state.model ?? fresh.find((message) => isFinishedAnswer(message) && message.model)?.model;
  const ends = fresh.slice(0, -1).flatMap((message) => {
    const isTelling =
      isFinishedAnswer(message) && mayShowWindow({ ...state, model }, setup.options, message.usage);
    return isTelling ? [history.messages.indexOf(message) + 1] : [];
  });
  if (extent !== "end" || ends.length === 0 || ends.length > MOST_ALONE)
    return afterMessages(viewOf(state, setup), change, setup);
  return [...ends, history.messages.length].reduce(
    (next, end) =>
      afterMessages(
        viewOf(next, setup),
        observeMessages(next.history, history.messages.slice(0, end)),
        setup,
      ),
    state,
  );
}

/** More of them say nothing new. */
const MOST_ALONE = 50;

function afterMessages(view: SessionView, change: HistoryChange, setup: SessionSetup): SessionState {
  const { state } = view;
  const { history, extent, dropped, changed: fresh } = change;
  if (extent === "same") return state;
  const first = commonLength(state.history.messages, history.messages);
  const earlier = new Map(state.history.messages.slice(first).map((message) => [message.id, message]));
  const isEdited = extent === "rebuilt" && (state.history.batches.length > 0 || dropped.length > 0);
  const arrived = Math.max(1, fresh.length);
  let next: SessionState = {
    ...state,
    history,
    version: state.version + arrived,
    arrivals: state.arrivals + arrived,
    // What was planned on other messages is of no use.
    ...(state.begun !== undefined && first < state.begun.folded && { begun: undefined }),
    // Before something else stands before them.
    ...((isEdited || isRewritten(state.history.messages, history.messages, first)) && {
      thoughts: view.bound,
    }),
  };
  const hasCleared = fresh.some((message) => {
    const before = earlier.get(message.id);
    return before !== undefined && clearedAtOf(message) > clearedAtOf(before);
  });
  if (state.history.messages.length === 0) {
    const { marked } = windowOf(history.transcript);
    next = { ...next, measure: { ...next.measure, epochStart: startByTimes(marked) } };
  } else if (isEdited || hasCleared) next = { ...inNewEpoch(view, next, setup), watermarks: {} };
  if (isEdited || hasCleared || change.gone.length > 0) next = withoutNeedlessWaits(next, setup);
  for (const message of fresh) next = withMessage(next, message, { earlier, setup });
  return withProviderBlock(view, next, { fresh, setup });
}

/** True when messages behind the first ones are not what they were; a call that has its result now is. */
function isRewritten(older: Transcript, newer: Transcript, first: number): boolean {
  return older.slice(first).some((message, index) => {
    const now = newer[first + index];
    return now?.id !== message.id || (now !== message && !isOpen(message));
  });
}

/** True for a message that waits for a result, or is not over. */
function isOpen({ parts, unfinished }: Message): boolean {
  return (
    unfinished === true || parts.some((part) => part.type === "tool" && part.outcome.status === "pending")
  );
}

const NEVER_IDLE = { count: 0, tokens: 0 } as const;

/** Takes in one message that is new, or different from the one with its id. */
function withMessage(
  state: SessionState,
  message: Message,
  { earlier, setup }: { readonly earlier: ReadonlyMap<MessageId, Message>; readonly setup: SessionSetup },
): SessionState {
  const before = earlier.get(message.id);
  const isRequest = typedText(message) !== "" && (before === undefined || typedText(before) === "");
  if (isRequest && state.recovery !== undefined) return { ...state, recovery: undefined };
  const isAnswer = isFinishedAnswer(message) && !(before !== undefined && isFinishedAnswer(before));
  if (!isAnswer) return state;
  const model = state.model ?? message.model;
  const isOlder = state.sentIn !== undefined && state.sentIn !== state.measure.epoch;
  const named = model === state.model ? state.measure : scaledFor(state.measure, model);
  const next: SessionState = {
    ...state,
    model,
    turn: state.turn + 1,
    recovery: undefined,
    recoveryCompactions: 0,
    isJustCompacted: false,
    sentIn: undefined,
    // What was edited or taken back since the request went out was not in it: its usage counts a window that is gone.
    measure: isOlder ? withoutUsageOf(named, message.id) : named,
  };
  // The usage of an answer with a compaction in it counts what was before, and what was made of it.
  return placedProviderBlock(message) === undefined ? withShownWindow(next, message, setup) : next;
}

/** What an answer shows of the model's window, where its usage is believed. */
function withShownWindow(state: SessionState, message: Message, setup: SessionSetup): SessionState {
  const { options } = setup;
  if (!mayShowWindow(state, options, message.usage)) return state;
  const { window, measure } = viewOf(state, setup);
  const usage = window.marked[measure.lastUsageIndex]?.id === message.id ? message.usage : undefined;
  const windows = windowsAfterAnswer(state, { usage, sentTokens: measure.tokens });
  const next = windows === state.windows ? state : { ...state, windows };
  const { reason, messageId } = measure.silent;
  // What was accepted may also be more than a limit of the input.
  const isAccepted = messageId === message.id && (reason === "usage-over-window" || reason === "fits");
  if (!isAccepted || !showsLargerWindow(next, options, usage)) return next;
  return changed(next, { windows: withRaisedWindow(next, options, usage) });
}

/** A provider has compacted by itself: from here on its block stands for what was before. */
function withProviderBlock(
  view: SessionView,
  next: SessionState,
  { fresh, setup }: { readonly fresh: readonly Message[]; readonly setup: SessionSetup },
): SessionState {
  if (!fresh.some((message) => placedProviderBlock(message) !== undefined)) return next;
  const { providerBlock } = windowOf(next.history.transcript);
  if (providerBlock === undefined || providerBlock.messageId === view.window.providerBlock?.messageId)
    return next;
  const bound = { ...next, thoughts: view.bound, beforeProviderBlock: view.state.history.transcript };
  const begun = inNewEpoch(view, bound, setup);
  // What came behind the block in the same list has seen it.
  const epochStart =
    viewOf(begun, setup).window.marked.findIndex(({ id }) => id === providerBlock.messageId) + 1;
  return changed(begun, { measure: { ...begun.measure, epochStart }, watermarks: {}, begun: undefined });
}

/** Puts edits in force; the same state when messages that they need are gone. */
function afterEdits(view: SessionView, made: EditsMade, setup: SessionSetup): SessionState {
  const { state } = view;
  const { step, reason, at, edits, unseen, degraded, waitTokens, summaryUsage } = made;
  const batchCount = freeCount(state, at);
  const batch: EditBatch = { id: `${at}-${batchCount}`, step, reason, at, edits };
  const history = withBatch(
    step === "keep-backup-summary" ? withoutBackups(state.history) : state.history,
    batch,
  );
  if (history === undefined) return state;
  const edited = changed(state, { history, batchCount, thoughts: view.bound });
  const measured = unseen ? edited : inNewEpoch(view, edited, setup);
  const after = viewOf(measured, setup);
  const entry: LedgerEntry = {
    step,
    reason,
    outcome: "applied",
    ...figuresOf(view, after),
    at,
    ...omitUndefined({ degraded, summaryUsage }),
  };
  const folded = foldHistory(history);
  const next: SessionState = {
    ...measured,
    history: folded,
    watermarks:
      unseen && waitTokens === undefined ? state.watermarks : watermarksAfter(state, after, waitTokens),
    // A stage of the user's own may edit at every step, which makes no compaction more useful.
    idle: step === RUN_STAGE ? state.idle : NEVER_IDLE,
    ledger: enterStep(state.ledger, entry),
    begun: isOvertaken(state, folded.batches) ? undefined : state.begun,
    ...(step === "keep-backup-summary" && { beforeProviderBlock: [] }),
  };
  return withoutNeedlessWaits(next, setup);
}

/** What an earlier backup summary says is in the new one. */
function withoutBackups(history: History): History {
  const batches = history.batches.filter((batch) => !isBackupBatch(batch));
  return batches.length === history.batches.length ? history : withBatches(history, batches).history;
}

/** Unique even when the clock stands still or was set back. */
function freeCount({ history, batchCount }: SessionState, at: number): number {
  let count = batchCount + 1;
  while (history.batches.some(({ id }) => id === `${at}-${count}`)) count++;
  return count;
}

/** True when the batches that a compaction was begun on are not in force any more. */
function isOvertaken({ begun }: SessionState, batches: readonly EditBatch[]): boolean {
  return begun?.batchId !== undefined && !batches.some(({ id }) => id === begun.batchId);
}

/** What a change of the window did to it, by estimate alone. */
export function figuresOf(before: SessionView, after: SessionView): ChangeFigures {
  const thoughtsLost = Math.max(0, before.window.thoughtCount - after.window.thoughtCount);
  return {
    tokensBefore: before.measure.uncounted.tokens,
    tokensAfter: after.measure.uncounted.tokens,
    ...(thoughtsLost > 0 && { thoughtsLost }),
  };
}

/** What the window was estimated at before and after, and the thoughts that it lost. */
export interface ChangeFigures {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Thoughts of the model that were sent before, and are not any more. */
  readonly thoughtsLost?: number;
}

/** The batch that would be taken back; undefined where there is none, or it stands for many. */
export function newestBatch({ history }: SessionState): EditBatch | undefined {
  const last = history.batches.findLast((batch) => !isBackupBatch(batch));
  return last === undefined || isFolded(last) ? undefined : last;
}

function afterUndo(
  view: SessionView,
  { at, summaryUsage }: { readonly at: number; readonly summaryUsage?: Usage },
  setup: SessionSetup,
): SessionState {
  const { state } = view;
  const last = newestBatch(state);
  if (last === undefined) return state;
  const { history } = withoutBatch(state.history, last.id);
  const undone = changed(state, { history, thoughts: view.bound });
  const measured = inNewEpoch(view, undone, setup);
  const entry: LedgerEntry = {
    step: last.step,
    reason: "undo",
    outcome: "undone",
    ...figuresOf(view, viewOf(measured, setup)),
    at,
    ...omitUndefined({ summaryUsage }),
  };
  const next: SessionState = {
    ...measured,
    recovery: undefined,
    pausedThroughTurn: state.turn + COOL_DOWN_TURNS,
    undoneStep: last.step,
    begun: undefined,
    watermarks: {},
    idle: NEVER_IDLE,
    ledger: enterStep(state.ledger, entry),
  };
  return withoutNeedlessWaits(next, setup);
}

function withEntry({ state, measure }: SessionView, entry: LedgerEntry): SessionState {
  const ledger = enterStep(state.ledger, entry);
  if (entry.step !== "compact" || entry.outcome !== "nothing") return { ...state, ledger };
  return { ...state, ledger, idle: { count: state.idle.count + 1, tokens: measure.tokens } };
}

function afterCompactionOver(view: SessionView, over: CompactionOver): SessionState {
  const { state, measure } = view;
  const { trigger, result, fits, hookStrikes } = over;
  const ended: SessionState = { ...state, hookStrikes, begun: undefined };
  if (result === "aborted") return ended;
  const isApplied = result === "applied";
  const { turn } = state;
  const held = isApplied ? undefined : holdAfter(result, { before: state.held, turn, fits });
  const { coolDownThroughTurn } =
    trigger === "manual" || held !== undefined
      ? state
      : afterCompaction(
          { epoch: 0 },
          { ...gainOf(state, isApplied), limit: view.knownLimits.conversationLimit, turn },
        ).state;
  return {
    ...ended,
    coolDownThroughTurn,
    held: isApplied ? undefined : (held ?? state.held),
    dealtWith: measure.silent.messageId ?? state.dealtWith,
    ...(isApplied && { isJustCompacted: true }),
    // A person who compacts by hand has dealt with the refusal.
    ...(isApplied && trigger === "manual" && { recovery: undefined }),
  };
}

/** What the newest step has freed, where it was the compaction. */
export function gainOf(
  { ledger }: SessionState,
  isApplied: boolean,
): { readonly tokensBefore: number; readonly tokensAfter: number } {
  const last = isApplied ? ledger.at(-1) : undefined;
  return { tokensBefore: last?.tokensBefore ?? 0, tokensAfter: last?.tokensAfter ?? 0 };
}

function afterRefused(
  view: SessionView,
  { report, error }: RequestRefused,
  setup: SessionSetup,
): SessionState {
  const { state, measure } = view;
  const { overheadTokens } = measure;
  const windows = windowsAfterRefusal(state, setup.options, {
    report,
    sentTokens: measure.tokens,
    overheadTokens,
  });
  const learned = { ...state, windows };
  const recovery = afterRefusal(state.recovery, {
    error,
    report,
    estimate: measure.uncounted,
    limitTokens: viewOf(learned, setup).knownLimits.fittingTokens,
    windowTokens: limitsOf(learned, setup.options).contextTokens,
    auto: state.settings.autoCompact ? "on" : "off",
  });
  return changed(learned, { recovery });
}

/** True when a thought in the window was sent to the provider. */
export function isAnyThoughtSent({ window }: SessionView): boolean {
  const { before } = window.thoughts;
  return window.marked.some(
    ({ id, parts }) =>
      before.has(id) && parts.some((part) => part.type === "reasoning" && part.agentVisible !== false),
  );
}

/** Leaves out stale thoughts from now on; where that was done already, every thought in the window. */
function afterThoughtsRefused(view: SessionView, setup: SessionSetup): SessionState {
  const { state, window, bound } = view;
  // Where the rule was not known yet, it is the stale ones that were refused.
  const isNewRule = view.afterEdit !== "refused" && window.thoughts.stale.size > 0;
  const thoughts = isNewRule ? { ...bound, refused: true as const } : refuseThoughts(bound, window.thoughts);
  return inNewEpoch(view, changed(state, { thoughts, watermarks: {} }), setup);
}

function afterModelChanged(
  view: SessionView,
  { model, limits }: { readonly model: ModelRef; readonly limits: Partial<ModelLimits> },
  setup: SessionSetup,
): SessionState {
  const { state } = view;
  const next = changed(state, {
    model,
    limits,
    windows: state.windows.filter((window) => window.model !== ""),
    thoughts: view.bound,
    // Refusals of the last model do not apply to this one.
    recovery: undefined,
    recoveryCompactions: 0,
    held: undefined,
    dealtWith: view.measure.silent.messageId ?? state.dealtWith,
    providerFailed: false,
    watermarks: {},
  });
  return inNewEpoch(view, next, setup);
}
