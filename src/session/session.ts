import { isFinished } from "../compaction/plan/last-request.ts";
import type { ProviderErrorReport } from "../compaction/provider-errors/classify-provider-error.ts";
import { classifyProviderError } from "../compaction/provider-errors/doors.ts";
import {
  type ChangedSettings,
  changeSettings,
  type SettingsChange,
} from "../compaction/trigger/compaction-settings.ts";
import { detectSilentOverflow } from "../compaction/trigger/detect-silent-overflow.ts";
import { LIMITS_SHAPE, type ModelLimits } from "../compaction/trigger/overflow.ts";
import type { TriggerStatus } from "../compaction/trigger/should-compact.ts";
import {
  abortSignal,
  aMeasure,
  check,
  objectOf,
  optionsCheck,
  required,
  throwProblems,
} from "../text/check.ts";
import { asObject, asString, omitUndefined } from "../text/unknown-value.ts";
import type { Edit } from "../transcript/edit.ts";
import {
  type Message,
  MODEL_RULE,
  type ModelRef,
  type Transcript,
  type Usage,
} from "../transcript/message.ts";
import {
  type IdleReason,
  NEXT_ACTION_SHAPE,
  type NextActionOptions,
  type RunResult,
  type SessionAction,
} from "./action.ts";
import { isAboutBlock, useBackupEdits } from "./backup-summary.ts";
import { type Decision, decide } from "./decide.ts";
import type { EditBatch } from "./history.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { PromptOverhead, WindowMeasure } from "./measure.ts";
import { readSessionOptions, type SessionOptions, type SessionPorts } from "./options.ts";
import type { Recalled, RecallRange, RecallRequest } from "./recall.ts";
import { createContentRecall } from "./recall-content.ts";
import { isAnyThoughtSent } from "./reduce.ts";
import { type Restored, restoreSession } from "./restore.ts";
import { runAction } from "./run-action.ts";
import { untilAborted, waitForBackground } from "./run-compaction.ts";
import { createRuntime, type Runtime } from "./runtime.ts";
import { type StoredState, storedState } from "./stored-state.ts";
import type { SessionView } from "./view.ts";
import { MANAGEMENT_SHAPE, type ProviderManagement } from "./window.ts";

/**
 * Keeps a conversation within its model's window. Messages come in by `append` or `observe` and are kept unchanged in
 * the history; edits go into batches beside them, and the window is computed from both. `nextAction` decides the one
 * thing to do next, `run` does it through the ports, and `prepare` does both until the model can be called. Every
 * batch is journalled and can be undone.
 */
export interface Session {
  /**
   * Takes the next message; one with a known id takes that message's place, and a result joins the call that waits for
   * it. Messages of a provider, which have no ids, are for `observe`: two that say the same would count as one.
   */
  append(message: Message): void;
  /** Takes the newest full list of a transcript that a host owns. */
  observe(transcript: Transcript): void;
  /** Observes a transcript and applies the batches of the journal, or of a state from `toJSON`, again. */
  restore(transcript: Transcript, state?: unknown): Promise<Restored>;
  /** What was done so far, as plain data to store. */
  toJSON(): StoredState;
  /** What the model is sent: what the newest compaction left, without hidden content, repaired for every provider. */
  messages(): Transcript;
  /** Every edit that makes the messages to send out of the transcript, for a format to apply to foreign messages. */
  edits(): readonly Edit[];
  /** The transcript with the edits applied; hidden content is in it, marked. */
  transcript(): Transcript;
  /** The one thing to do next. Changes nothing: the same state gives the same answer. */
  nextAction(asked?: NextActionOptions): SessionAction;
  /** Runs an action through the ports. */
  run(action: SessionAction, signal?: AbortSignal): Promise<RunResult>;
  /** Runs everything that the session can do by itself, and gives the action that is left to the caller. */
  prepare(options?: PrepareOptions): Promise<SessionAction>;
  /**
   * Waits for what was asked for in the background, tool summaries and a compaction, and puts it into the window. `prepare`
   * does so itself for tool summaries after the turn that ends a loop; call it before the process ends.
   */
  settled(signal?: AbortSignal): Promise<void>;
  /** Takes an error of the provider; `nextAction` then says what to do about a refused request. */
  onProviderError(error: unknown, options?: { readonly provider?: string }): ProviderErrorReport;
  /** Takes an empty answer; `overflow` when the window is full, and `nextAction` then says what to do. */
  onEmptyAnswer(answer: EmptyAnswer): "overflow" | "empty";
  /** Takes the newest batch back: the messages to send are what they were before, with what has come in since. */
  undo(): Promise<UndoResult>;
  /** Reads what the model no longer sees, trimmed. */
  recall(request: RecallRequest, range?: RecallRange): Promise<Recalled>;
  /** What each step gained, oldest first. */
  ledger(): readonly LedgerEntry[];
  /** Settings, limit, estimate and the batches in force, as they are now. */
  status(): SessionStatus;
  /** Changes a setting while the session runs. */
  change(change: SettingsChange): ChangedSettings;
  /** Sets the model that is asked from now on, with what it accepts or what is known of it; usage of the last one no longer counts. */
  useModel(model: ModelRef, limits?: Partial<ModelLimits>): void;
  /** Sets how large the system prompt and the tool definitions are, where they are no messages. */
  setOverhead(overhead: PromptOverhead): void;
  /** Says what the provider that is asked next does about the window by itself: ours steps aside for that. */
  setManagement(management: ProviderManagement): void;
  /**
   * Says that the window is being sent as it is now. For hosts that observe whole lists: the answer comes with a later list,
   * and its thoughts are bound to what was sent, whatever is edited or taken back in between.
   */
  sent(): void;
}

/** Options of `prepare`. */
export interface PrepareOptions extends NextActionOptions {
  /** Ends the preparation; what was applied until then stays. */
  readonly signal?: AbortSignal;
}

/** What is known of an answer without content. */
export interface EmptyAnswer {
  readonly usage?: Usage;
  readonly finish?: string;
}

/** The batch that was taken back, or why none was. */
export type UndoResult =
  | { readonly status: "undone"; readonly batch: EditBatch }
  | { readonly status: "nothing" }
  | { readonly status: "busy" };

/** Settings, limit and estimate of a session as it is now. */
export interface SessionStatus extends TriggerStatus {
  readonly estimate: WindowMeasure;
  /** Counts the changes of the context. */
  readonly epoch: number;
  /** Answers of the model so far. */
  readonly turn: number;
  readonly isRunning: boolean;
  /** The edits in force, oldest first. */
  readonly batches: readonly EditBatch[];
  /** Ids of batches that a journal, or `persist`, has not answered for yet. They are in force, and written again. */
  readonly unsaved: readonly string[];
}

/** A session without messages. Throws only when the options cannot be used. */
export function createSession(ports: SessionPorts, options: SessionOptions = {}): Session {
  const runtime = createRuntime(ports, readSessionOptions(options, ports ?? {}));
  const { log } = runtime;
  const never = new AbortController().signal;
  const run = (action: SessionAction, signal = never): Promise<RunResult> =>
    runAction(runtime, action, signal);
  const decideNow = (asked: NextActionOptions): Decision =>
    runtime.isRunning ? whileRunning(runtime.view()) : decide(runtime.view(), asked);

  /** Starts or continues the recovery of a refused request. */
  const refuse = (error: unknown, report: ProviderErrorReport): void => {
    runtime.change({ type: "refused", error, report });
    runtime.writeRest();
  };

  async function runAll({ signal = never, ...given }: PrepareOptions): Promise<SessionAction> {
    let asked: NextActionOptions = given;
    let unmet: IdleReason | undefined;
    const answer = (action: SessionAction): SessionAction =>
      action.type === "none" && unmet !== undefined ? { ...action, reason: unmet } : action;
    const next = async (): Promise<SessionAction> => {
      const { action, watermarks } = decideNow(asked);
      if (watermarks === undefined || watermarks === runtime.state().watermarks) return action;
      runtime.change({ type: "looked", watermarks });
      // What is done next is written with what was found; nothing else would say it.
      if (!("version" in action)) {
        runtime.writeRest();
        await log.written();
      }
      return action;
    };
    const maxSteps = MAX_STEPS + (runtime.options.stages?.length ?? 0);
    for (let step = 0; step < maxSteps; step++) {
      const action = await next();
      if (!("version" in action)) return answer(action);
      const result = await run(action, signal);
      const { status } = result;
      if (status === "aborted") return ABORTED;
      if (status === "busy") return action;
      if (action.type !== "compact" || status === "stale") continue;
      asked = { ...given, demand: "none" };
      if (given.demand === "manual") unmet = whyNotCompacted(result);
    }
    return answer(await next());
  }

  async function settled(signal = never): Promise<void> {
    if (runtime.background !== undefined) {
      await waitForBackground(runtime, signal);
      const { version } = runtime.state();
      if (!signal.aborted) await run({ type: "compact", version, trigger: "threshold" }, signal);
    }
    await toolSummariesSettled(signal);
  }

  async function toolSummariesSettled(signal = never): Promise<void> {
    for (let step = 0; step < MAX_STEPS && runtime.state().pending.length > 0 && !signal.aborted; step++) {
      await untilAborted(runtime.answers.arrived(), { clock: ports.clock, signal });
      const { version } = runtime.state();
      const visibleResults = runtime.view().countedResults.length;
      const action = { type: "summarize-tool-results", version, visibleResults } as const;
      if ((await run(action, signal)).status === "busy") break;
    }
    await log.written();
  }

  return {
    append(message) {
      const { messages } = runtime.state().history;
      runtime.change({ type: "appended", message });
      if (runtime.state().history.messages !== messages) return;
      // Whether it was said twice or given twice only the caller knows; the newest one given twice does no harm.
      const id = asString(asObject(message).id) ?? "";
      if (messages.at(-1)?.id === id || !messages.some((known) => known.id === id)) return;
      runtime.warnOnce(
        "message-repeated",
        `The message ${id} is there already and was not taken again. If it was said again, give it an id of its own, or observe the whole list.`,
      );
    },

    observe: (transcript) => runtime.change({ type: "observed", transcript }),

    nextAction(asked = {}) {
      checkNextAction(asked);
      return decideNow(asked).action;
    },

    run,
    restore: (transcript, state) => restoreSession(runtime, transcript, state),
    toJSON: () => storedState(runtime.view()),

    async prepare(given = {}) {
      checkPrepare(given);
      log.writeAgain();
      if (given.demand === "manual" && runtime.state().history.messages.length === 0) {
        log.warn(
          "no-messages",
          "A compaction was asked for before the session has any message: observe or restore them first.",
        );
        return { type: "none", reason: "no-messages", fits: true };
      }
      runtime.warnOfUsage();
      const action = await runAll(given);
      const isLoopOver = given.moment === "after-turn" && isFinished(runtime.view().window.shown);
      if (!isLoopOver || runtime.state().pending.length === 0) return action;
      await toolSummariesSettled(given.signal);
      const { demand: _, ...rest } = given;
      return runAll(rest);
    },

    settled,

    onProviderError(error, options) {
      const report = classifyProviderError(error, options);
      if (report.recovery === "leave-out-thoughts") {
        if (!isAnyThoughtSent(runtime.view())) return { ...report, recovery: "none" };
        runtime.change({ type: "thoughts-refused", reason: report.class });
        runtime.writeRest();
        return report;
      }
      // The block of a compaction is a thought of the provider's, too.
      if (report.recovery === "none" && refuseBlock(runtime, report))
        return { ...report, recovery: "leave-out-thoughts" };
      if (report.recovery !== "none") refuse(error, report);
      return report;
    },

    onEmptyAnswer({ usage, finish }) {
      const { knownLimits, measure, state } = runtime.view();
      const { isOverflow } = detectSilentOverflow({
        usage,
        ...(finish !== undefined && { stopReason: finish }),
        contextWindowTokens: knownLimits.limits.contextTokens,
        sentEstimateTokens: measure.tokens,
        moment: state.isJustCompacted ? "just-compacted" : "other",
      });
      if (!isOverflow) return "empty";
      const error = new Error("The model answered nothing, because the conversation fills its window.");
      refuse(error, { class: "context_overflow", isOverflow, recovery: "compact", message: error.message });
      return "overflow";
    },

    async undo() {
      if (runtime.isRunning) return { status: "busy" };
      const { background } = runtime;
      const batch = runtime.takeBack();
      if (batch !== undefined) await background?.drop();
      await log.written();
      return batch === undefined ? { status: "nothing" } : { status: "undone", batch };
    },

    recall: createContentRecall(runtime),

    status() {
      const { state, measure, knownLimits } = runtime.view();
      return {
        settings: state.settings,
        contextWindowTokens: knownLimits.limits.contextTokens,
        ...knownLimits.tokenLimit,
        tokens: measure.tokens,
        estimate: measure,
        epoch: state.measure.epoch,
        turn: state.turn,
        isRunning: runtime.isRunning,
        batches: state.history.batches,
        unsaved: log.unsaved(),
      };
    },

    change(change) {
      const changed = changeSettings(runtime.state().settings, change);
      if (changed.status === "changed") {
        const { settings } = changed;
        runtime.change({ type: "settings-changed", settings, isAuto: change.type === "set-auto" });
        runtime.writeRest();
      }
      return changed;
    },

    setOverhead(overhead) {
      checkOverhead(overhead);
      runtime.change({ type: "overhead-changed", overhead });
    },

    sent: () => runtime.change({ type: "sent" }),

    setManagement(management) {
      checkManagement(management);
      runtime.change({ type: "management-changed", management });
    },

    useModel(model, limits = {}) {
      throwProblems(check(USE_MODEL_SHAPE, { model, limits }));
      runtime.change({ type: "model-changed", model, limits: omitUndefined(limits) });
    },

    messages: () => runtime.view().window.shown,
    edits: () => {
      const { state, window } = runtime.view();
      return [...state.history.batches.flatMap((batch) => batch.edits), ...window.edits];
    },
    transcript: () => runtime.state().history.transcript,
    ledger: () => runtime.state().ledger,
  };
}

/** While an action is being run there is nothing to decide. */
function whileRunning({ measure, knownLimits }: SessionView): Decision {
  const fits = measure.tokens < (knownLimits.tokenLimit.limitTokens ?? Number.POSITIVE_INFINITY);
  return { action: { type: "none", reason: "in-progress", fits }, watermarks: undefined };
}

/** Puts the backup summary in place of a block that the provider was asked for and does not take back; false where the error is about something else. */
function refuseBlock(runtime: Runtime, report: ProviderErrorReport): boolean {
  if (!isAboutBlock(runtime.view(), report)) return false;
  runtime.change({ type: "provider-failed" });
  const edits = useBackupEdits(runtime.view());
  return runtime.commit({ step: "use-backup-summary", reason: "refused", edits }) !== undefined;
}

const checkPrepare = optionsCheck({ ...NEXT_ACTION_SHAPE, signal: abortSignal });
const USE_MODEL_SHAPE = { model: required(MODEL_RULE), limits: objectOf(LIMITS_SHAPE) };
const checkNextAction = optionsCheck(NEXT_ACTION_SHAPE);
const checkManagement = optionsCheck(MANAGEMENT_SHAPE);
const checkOverhead = optionsCheck({ systemChars: aMeasure, toolsChars: aMeasure });

/** More than any state needs; guards against an endless loop. */
const MAX_STEPS = 32;

/** What a person is told who asked for a compaction that did not happen. */
function whyNotCompacted(result: RunResult): IdleReason | undefined {
  if (result.status === "nothing") return "manual";
  if (result.status !== "failed") return undefined;
  return result.reason === "vetoed" ? "vetoed" : "summary-failed";
}

const ABORTED: SessionAction = { type: "none", reason: "aborted", fits: false };
