import { omitUndefined } from "../text/unknown-value.ts";
import type { Handle } from "../transcript/edit.ts";
import { commonLength, type Message, type MessageId } from "../transcript/message.ts";
import type { WarningCode } from "./events.ts";
import type { PendingCompaction } from "./finished-compaction.ts";
import { isFolded } from "./fold.ts";
import { type EditBatch, findMessage } from "./history.ts";
import { foldLedger, type LedgerEntry } from "./ledger.ts";
import { createSessionLog, type SessionLog } from "./log.ts";
import { doubtText } from "./measure.ts";
import { createSpending } from "./metered-summarizer.ts";
import type { ResolvedSessionOptions, SessionPorts } from "./options.ts";
import { type AnswersOnTheWay, createAnswers } from "./pending-summaries.ts";
import type { SnapshotRecord } from "./record.ts";
import { figuresOf, gainOf, newestBatch, reduce, type SessionChange } from "./reduce.ts";
import { initialState, type SessionState } from "./state.ts";
import { restOf } from "./stored-rest.ts";
import { storeBatch, storedState } from "./stored-state.ts";
import type { StoredBindings, ThoughtBindings } from "./thoughts.ts";
import { type SessionSetup, type SessionView, viewOf } from "./view.ts";
import { isBackupBatch } from "./window.ts";

/** The side of a session that touches the world: it holds the newest state, tells what changes, and writes that down. */
export interface Runtime extends SessionSetup {
  readonly log: SessionLog;
  state(): SessionState;
  /** What follows from the newest state. */
  view(): SessionView;
  /** Takes in what has happened. */
  change(change: SessionChange): void;
  /** Puts edits in force, with what follows from that, and journals both; undefined when messages that they need are gone. */
  commit(step: Step, then?: readonly SessionChange[]): Committed | undefined;
  /** Takes the newest batch back. */
  takeBack(): EditBatch | undefined;
  /** Journals a step that changed nothing, with what follows from that. */
  note(entry: Omit<LedgerEntry, "at">, then?: readonly SessionChange[]): void;
  /** Journals what has changed of the state without a step. */
  writeRest(): void;
  warnOnce(code: WarningCode, message: string, key?: string): void;
  /** Tells once what the provider reports, where that is not believed. */
  warnOfUsage(): void;
  /** A message of the owner, also one that has left the list, or one that a batch in force inserted. */
  find(id: MessageId): Message | undefined;
  /** Answers of the summarizer that tool results wait for. */
  readonly answers: AnswersOnTheWay;
  /** A compaction whose summary is being written. */
  background: PendingCompaction | undefined;
  isRunning: boolean;
}

/** Edits of one step, as they are journalled. */
export type Step = Omit<Extract<SessionChange, { readonly type: "edited" }>, "type" | "at" | "summaryUsage">;

/** A batch that is in force now. */
export interface Committed {
  readonly batch: EditBatch;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The runtime of a session that has no messages yet. */
export function createRuntime(given: SessionPorts, options: ResolvedSessionOptions): Runtime {
  const spending = createSpending(given, options, (used) => log.emit({ type: "summary_usage", ...used }));
  const { ports } = spending;
  const setup: SessionSetup = { ports, options };
  let state = initialState(options);
  const told = new Set<string>();
  const everKept = new Set<Handle>();
  const departed = new Map<MessageId, Message>();
  let writtenLines: ThoughtBindings["lines"] = new Map();
  const view = (): SessionView => viewOf(state, setup);
  const log = createSessionLog({
    journal: ports.journal,
    clock: ports.clock,
    onEvent: options.onEvent,
    store: (batch) => storeBatch(batch, { source: state.history.messages, batches: state.history.batches }),
    snapshot: () => snapshotOf(view(), ports.clock.now()),
  });

  function change(happened: SessionChange): void {
    const before = state;
    state = reduce(before, happened, setup);
    if (state === before) return;
    noteDeparted(before);
    if (happened.type === "restored") writtenLines = happened.from.thoughts.lines;
    tell(viewOf(before, setup), happened);
    if (before.begun !== undefined && state.begun === undefined && happened.type !== "compaction-over")
      void runtime.background?.drop();
  }

  /** Messages that left the list can still be recalled. */
  function noteDeparted({ history }: SessionState): void {
    const { messages } = state.history;
    const same = commonLength(history.messages, messages);
    if (same === history.messages.length) return;
    const there = new Set(messages.slice(same).map(({ id }) => id));
    for (const message of history.messages.slice(same))
      if (!there.has(message.id)) departed.set(message.id, message);
  }

  /** Tells what a change did to the window, and what somebody may want to know of it. */
  function tell(before: SessionView, happened: SessionChange): void {
    const earlier = before.state;
    const dropped = isOfOwner(happened)
      ? earlier.history.batches.filter(({ id }) => !state.history.batches.some((batch) => batch.id === id))
      : [];
    for (const batch of dropped) {
      const at = ports.clock.now();
      log.write({ v: 1, type: "drop", batchId: batch.id, at, ...(isFolded(batch) && { folded: true }) });
      log.warn("edits-dropped", `Messages that ${batch.step} edited are gone, so its edits were dropped.`);
    }
    const what = nameOf(before, happened);
    if (what !== undefined) {
      const { tokensBefore, tokensAfter, ...lost } = figuresOf(before, view());
      const { epoch } = state.measure;
      log.emit({
        type: "context_changed",
        ...what,
        before: tokensBefore,
        after: tokensAfter,
        epoch,
        ...lost,
      });
    }
    warnOfWindows(earlier);
    warnOfCoolDown(earlier, happened);
    if (options.keptTools.length > 0) warnOfDropped();
    if (happened.type === "model-changed") warnOfReserve();
  }

  /** How a change of the window is called; undefined for any other change. */
  function nameOf(
    before: SessionView,
    happened: SessionChange,
  ): { readonly kind: string; readonly reason: string } | undefined {
    const isNewEpoch = state.measure.epoch !== before.state.measure.epoch;
    switch (happened.type) {
      case "edited":
        return { kind: happened.step, reason: happened.reason };
      case "undone":
        return { kind: "undo", reason: newestBatch(before.state)?.step ?? "" };
      case "model-changed":
        return { kind: "model", reason: `${happened.model.provider}/${happened.model.id}` };
      case "thoughts-refused":
        return { kind: "thoughts-refused", reason: happened.reason };
      case "appended":
      case "observed": {
        if (!isNewEpoch) return undefined;
        const { providerBlock } = view().window;
        return providerBlock !== undefined &&
          providerBlock.messageId !== before.window.providerBlock?.messageId
          ? { kind: "provider-compacted", reason: providerBlock.provider }
          : { kind: "base", reason: "the owner changed earlier messages" };
      }
      default:
        return undefined;
    }
  }

  function warnOfWindows({ windows }: SessionState): void {
    const raised = state.windows.find((window) => window.figure === "accepted" && !windows.includes(window));
    if (raised === undefined) return;
    log.warn(
      "window-raised",
      `The model took more than was known of it: its window counts as ${raised.windowTokens} tokens from now on.`,
    );
  }

  function warnOfCoolDown({ coolDownThroughTurn }: SessionState, happened: SessionChange): void {
    if (happened.type !== "compaction-over" || state.coolDownThroughTurn === undefined) return;
    if (state.coolDownThroughTurn === coolDownThroughTurn) return;
    const { limitTokens = 0 } = view().knownLimits.conversationLimit;
    const { tokensBefore, tokensAfter } = gainOf(state, happened.result === "applied");
    const freedTokens = tokensBefore - tokensAfter;
    log.warn(
      "compaction-gained-little",
      `A compaction freed ${freedTokens} of ${limitTokens} tokens; the next one waits until turn ${state.coolDownThroughTurn}.`,
    );
  }

  /** What should be kept and is not: told once for each. */
  function warnOfDropped(): void {
    const { kept, dropped } = view().protectedOutputs;
    for (const handle of kept) everKept.add(handle);
    const isThere = (handle: Handle): boolean => {
      const messageId = handle.slice(0, handle.lastIndexOf("/"));
      return state.history.transcript.some(({ id }) => id === messageId);
    };
    const gone = [...everKept].filter((handle) => !kept.includes(handle) && isThere(handle));
    const untold = [...new Set([...dropped, ...gone])].filter((handle) => !told.has(`kept ${handle}`));
    for (const handle of untold) told.add(`kept ${handle}`);
    if (untold.length === 0) return;
    const outputs = untold.length === 1 ? "An output" : `${untold.length} outputs`;
    log.warn(
      "protected-output-dropped",
      `${outputs} that should be kept would not leave enough of the window: ${untold.join(", ")}`,
    );
  }

  function warnOfReserve(): void {
    const { isAllReserved, limits } = view().knownLimits;
    if (!isAllReserved) return;
    log.warn(
      "no-usable-window",
      `The reserve for the answer leaves nothing of a window of ${limits.contextTokens} tokens.`,
    );
  }

  function warnOnce(code: WarningCode, message: string, key: string = code): void {
    if (told.has(key)) return;
    told.add(key);
    log.warn(code, message);
  }

  /** What was bound since it was last written. */
  function newBindings(): StoredBindings {
    const { thoughts } = state;
    const before = writtenLines;
    writtenLines = thoughts.lines;
    const { lines, ...others } = thoughts;
    return { bound: [...lines].filter(([id, line]) => before.get(id) !== line), ...others };
  }

  const runtime: Runtime = {
    ports,
    options,
    log,
    state: () => state,
    view,
    change,
    background: undefined,
    isRunning: false,
    warnOnce,
    warnOfUsage() {
      if (!told.has("formulas-disagree") && view().overflow.disagreement)
        warnOnce("formulas-disagree", "The two overflow formulas disagree about the newest usage.");
      const { doubts } = told.has("usage-not-believed") ? { doubts: undefined } : view().measure;
      if (doubts !== undefined) warnOnce("usage-not-believed", doubtText(doubts));
    },
    answers: createAnswers({
      options,
      pending: () => state.pending,
      change: (pending) => change({ type: "summaries-pending", pending }),
      write: (each) =>
        log.write({ v: 1, type: "pending-summary", ...each, at: ports.clock.now(), rest: restOf(view()) }),
    }),

    commit(step, then = []) {
      const at = ports.clock.now();
      const before = view();
      change({ type: "edited", ...step, at, ...spending.sinceLastAsked() });
      if (view() === before) return undefined;
      const entry = state.ledger.at(-1) as LedgerEntry;
      const { tokensBefore, tokensAfter, degraded, thoughtsLost, summaryUsage } = entry;
      const id = `${at}-${state.batchCount}`;
      const { step: name, reason, edits } = step;
      // One that stands for many now may have taken its place.
      const made = state.history.batches.find((batch) => batch.id === id && batch.step === name);
      const batch: EditBatch = made ?? { id, step: name, reason, at, edits };
      for (const each of then) change(each);
      log.writeBatch(batch, {
        tokensBefore,
        tokensAfter,
        ...omitUndefined({ degraded, thoughtsLost, summaryUsage, thoughts: newBindings() }),
        rest: restOf(view()),
      });
      for (const { id } of before.state.history.batches.filter(isBackupBatch))
        if (!state.history.batches.some((kept) => kept.id === id))
          log.write({ v: 1, type: "drop", batchId: id, at });
      return { batch, tokensBefore, tokensAfter };
    },

    takeBack() {
      const last = newestBatch(state);
      if (last === undefined) return undefined;
      const at = ports.clock.now();
      change({ type: "undone", at, ...spending.sinceLastAsked() });
      const rest = restOf(view());
      log.write({ v: 1, type: "step", ...(state.ledger.at(-1) as LedgerEntry), rest });
      log.write({ v: 1, type: "undo", batchId: last.id, at, thoughts: newBindings(), rest });
      return last;
    },

    note(step, then = []) {
      const entry = { ...step, ...spending.sinceLastAsked(), at: ports.clock.now() };
      change({ type: "noted", entry });
      for (const each of then) change(each);
      log.write({ v: 1, type: "step", ...entry, rest: restOf(view()) });
    },

    writeRest() {
      log.write({
        v: 2,
        type: "rest",
        at: ports.clock.now(),
        thoughts: newBindings(),
        rest: restOf(view()),
      });
    },

    find: (id) => findMessage(state.history, id) ?? departed.get(id),
  };
  warnOfReserve();
  return runtime;
}

/** True for what the owner of the messages did. */
function isOfOwner({ type }: SessionChange): boolean {
  return type === "appended" || type === "observed";
}

/** A record of the whole state, in place of every record before it. */
function snapshotOf(view: SessionView, at: number): SnapshotRecord {
  const ledger = foldLedger(view.state.ledger, SNAPSHOT_LEDGER_ENTRIES);
  return { v: 2, type: "snapshot", at, state: storedState(view), ledger };
}

const SNAPSHOT_LEDGER_ENTRIES = 20;
