import { classifyProviderError, type ProviderErrorReport } from "../compaction/classify-provider-error.ts";
import {
  type ChangedSettings,
  changeSettings,
  type SettingsChange,
} from "../compaction/compaction-settings-change.ts";
import { detectSilentOverflow } from "../compaction/detect-silent-overflow.ts";
import { learnContextLimit } from "../compaction/provider-errors/learn-context-limit.ts";
import { type TriggerStatus, triggerStatus } from "../compaction/should-compact-status.ts";
import { type ModelLimits, usableTokens } from "../compaction/usable-tokens.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ContextEstimate } from "../transcript/estimate-context-tokens.ts";
import type { Message, ModelRef, Transcript, Usage } from "../transcript/message.ts";
import type { SentBeside } from "./context-meter.ts";
import type { EditBatch } from "./edit-batch.ts";
import type { LedgerEntry } from "./ledger.ts";
import { decideNextAction } from "./next-action.ts";
import { readSessionOptions } from "./read-session-options.ts";
import type { Recalled, RecallRange, RecallRequest } from "./recall.ts";
import { recallFrom } from "./recall-from.ts";
import { afterRefusal } from "./recovery-state.ts";
import { type Restored, restoreFrom } from "./restore-from.ts";
import { runAction } from "./run-action.ts";
import type { RunResult } from "./run-result.ts";
import type { SessionAction } from "./session-action.ts";
import { createSessionCore } from "./session-core.ts";
import type { SessionOptions } from "./session-options.ts";
import type { SessionPorts } from "./session-ports.ts";
import type { SessionState } from "./session-state.ts";
import { type Asked, viewOf } from "./session-view.ts";
import { tokenLimitOf } from "./token-limit-of.ts";

/**
 * Keeps a conversation within its model's window: says what to do next, does it, writes down why, and can take it back.
 * The transcript is the session's own (`append`) or somebody else's (`observe`); neither is ever changed.
 */
export interface Session {
  /** Takes the next message; one with a known id takes that message's place, as when the result of a call arrives. */
  append(message: Message): void;
  /** Takes the newest full list of a transcript that a host owns. */
  observe(transcript: Transcript): void;
  /** Observes a transcript and puts in force again what the journal, or a state that was kept elsewhere, says was done to it. */
  restore(transcript: Transcript, state?: unknown): Promise<Restored>;
  /** What was done so far, for a store of one's own. */
  toJSON(): SessionState;
  /** What the model is sent: without what is hidden, within the newest compaction, and nothing a provider would refuse. */
  projection(): Transcript;
  /** Every edit that makes the projection out of the transcript, for a format to apply to foreign messages. */
  edits(): readonly Edit[];
  /** The transcript with the edits in force; what is hidden is in it, marked. */
  transcript(): Transcript;
  /** The one thing to do next. Changes nothing: the same state gives the same answer. */
  nextAction(asked?: Asked): SessionAction;
  /** Does it, through the ports. */
  run(action: SessionAction, signal?: AbortSignal): Promise<RunResult>;
  /** Does everything the session can do by itself, and gives what is left for whoever calls the model. */
  prepare(options?: PrepareOptions): Promise<SessionAction>;
  /** Takes in that the provider refused the request; `nextAction` then says what to do about it. */
  onProviderError(error: unknown, options?: { readonly provider?: string }): ProviderErrorReport;
  /** Takes in an answer that holds nothing; `overflow` when that shows a full window: `nextAction` then says what to do. */
  onEmptyAnswer(answer: EmptyAnswer): "overflow" | "empty";
  /** Takes the newest edits back: the projection is exactly what it was, with what has come in since. */
  undo(): Promise<UndoResult>;
  /** Brings back what the model no longer sees, bounded. */
  recall(request: RecallRequest, range?: RecallRange): Promise<Recalled>;
  /** What each step gained, oldest first. */
  ledger(): readonly LedgerEntry[];
  status(): SessionStatus;
  /** Changes a setting while the session runs. */
  change(change: SettingsChange): ChangedSettings;
  /** Another model is asked from now on: what the last one counted no longer holds. */
  useModel(model: ModelRef, limits: ModelLimits): void;
  /** What is sent beside the messages from now on. */
  sendBeside(beside: SentBeside): void;
}

export interface PrepareOptions extends Asked {
  readonly signal?: AbortSignal;
}

export interface EmptyAnswer {
  readonly usage?: Usage;
  readonly finish?: string;
}

export type UndoResult =
  | { readonly status: "undone"; readonly batch: EditBatch }
  | { readonly status: "nothing" }
  | { readonly status: "busy" };

export interface SessionStatus extends TriggerStatus {
  readonly estimate: ContextEstimate;
  /** Counts the changes of the context. */
  readonly epoch: number;
  /** Answers of the model so far. */
  readonly turn: number;
  readonly isRunning: boolean;
  /** The edits in force, oldest first. */
  readonly batches: readonly EditBatch[];
}

/** A session without messages. Throws only when the options cannot be used. */
export function createSession(ports: SessionPorts, options: SessionOptions = {}): Session {
  const core = createSessionCore(ports, readSessionOptions(options));
  const { line, memory, meter, log } = core;
  const nextAction = (asked: Asked = {}): SessionAction => decideNextAction(viewOf(core, asked));
  const never = new AbortController().signal;
  const run = (action: SessionAction, signal = never): Promise<RunResult> => runAction(core, action, signal);
  const observe = (transcript: Transcript): void => {
    memory.owner = "host";
    core.take((known) => known.observe(transcript));
  };

  const warnOfWindow = (): void => {
    const { contextTokens } = memory.limits;
    if (!(contextTokens > 0) || usableTokens(memory.limits, options.overflow) > 0) return;
    log.warn(
      "no-usable-window",
      `The reserve for the answer leaves nothing of a window of ${contextTokens} tokens.`,
    );
  };
  warnOfWindow();

  /** Makes a refusal the next thing to deal with. */
  const refuse = (error: unknown, report: ProviderErrorReport): void => {
    const contextTokens = learnContextLimit(memory.limits.contextTokens, report.limitTokens);
    memory.limits = { ...memory.limits, contextTokens };
    memory.recovery = afterRefusal(memory.recovery, {
      error,
      report,
      estimate: meter.estimateUncounted(),
      limitTokens: tokenLimitOf(memory).limitTokens ?? Number.POSITIVE_INFINITY,
      windowTokens: contextTokens,
      auto: memory.settings.autoCompact ? "on" : "off",
    });
    memory.version++;
  };

  return {
    append: (message) => core.take((known) => known.append(message)),
    observe,
    nextAction,
    run,

    async restore(transcript, state) {
      observe(transcript);
      return restoreFrom(core, state);
    },

    toJSON: () => ({ v: 1, batches: line.batches() }),

    async prepare({ signal = never, ...given } = {}) {
      let asked: Asked = given;
      for (let step = 0; step < MAX_STEPS; step++) {
        const action = nextAction(asked);
        const result = await run(action, signal);
        if (action.type === "compact" && result.status !== "stale") asked = { ...given, demand: "none" };
        if (result.status === "for-the-caller" || result.status === "busy" || result.status === "aborted") {
          return result.status === "aborted" ? ABORTED : action;
        }
      }
      return nextAction(asked);
    },

    onProviderError(error, { provider } = {}) {
      const report = classifyProviderError(error, { ...(provider !== undefined && { provider }) });
      if (report.recovery !== "none") refuse(error, report);
      return report;
    },

    onEmptyAnswer({ usage, finish }) {
      const { isOverflow } = detectSilentOverflow({
        usage,
        ...(finish !== undefined && { stopReason: finish }),
        contextWindowTokens: memory.limits.contextTokens,
        sentEstimateTokens: meter.estimate().tokens,
        moment: memory.isJustCompacted ? "just-compacted" : "other",
      });
      if (!isOverflow) return "empty";
      const error = new Error("The model answered nothing, because the conversation fills its window.");
      refuse(error, { class: "context_overflow", isOverflow, recovery: "compact", message: error.message });
      return "overflow";
    },

    async undo() {
      if (memory.isRunning) return { status: "busy" };
      const batch = core.takeBack();
      await log.written();
      return batch === undefined ? { status: "nothing" } : { status: "undone", batch };
    },

    recall: (request, range) => recallFrom(core, request, range),

    status() {
      const estimate = meter.estimate();
      const { settings, limits, model } = memory;
      return {
        ...triggerStatus({
          settings,
          tokens: estimate.tokens,
          contextWindowTokens: limits.contextTokens,
          ...(model && { model }),
        }),
        estimate,
        epoch: meter.epoch(),
        turn: memory.answers.size,
        isRunning: memory.isRunning,
        batches: line.batches(),
      };
    },

    change(change) {
      const changed = changeSettings(memory.settings, change);
      if (changed.status === "changed") {
        memory.settings = changed.settings;
        if (change.type === "set-auto") memory.recovery = undefined;
        memory.version++;
      }
      return changed;
    },

    sendBeside(beside) {
      if (meter.setBeside(beside)) memory.version++;
    },

    useModel(model, limits) {
      memory.limits = limits;
      memory.model = model;
      // What the last model refused, or could not take, says nothing about this one.
      memory.recovery = undefined;
      memory.recoveryCompactions = 0;
      memory.isOverflowSeen = false;
      meter.setModel(model);
      core.changed("model", `${model.provider}/${model.id}`);
      warnOfWindow();
    },

    projection: () => line.window().shown(),
    edits: () => line.edits(),
    transcript: () => line.transcript(),
    ledger: () => core.ledger.entries(),
  };
}

/** More than any state needs: every step uses something up. */
const MAX_STEPS = 32;

const ABORTED: SessionAction = { type: "none", reason: "aborted", fits: false };
