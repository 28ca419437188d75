import { createResultCounter } from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { detectSilentOverflow } from "../compaction/trigger/overflow.ts";
import { afterContextChange, COOL_DOWN_TURNS } from "../compaction/trigger/should-compact.ts";
import type { AfterEdit } from "../models/model-row.ts";
import { pendingMarker } from "../stages/boundary.ts";
import type { CacheArithmetic, LostThoughts } from "../stages/cache-plan.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../stages/tiers.ts";
import { deepEqual, omitUndefined } from "../text/json.ts";
import { handleOf } from "../transcript/content.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import type { ContextEstimate } from "../transcript/estimate-context.ts";
import { type Message, type Transcript, typedText } from "../transcript/message.ts";
import { type ContextMeter, createContextMeter } from "./context-meter.ts";
import { foldHistory, isFolded } from "./fold.ts";
import { createHistory, type EditBatch, type History, type HistoryChange } from "./history.ts";
import { createSessionLog, type SessionLog } from "./log.ts";
import { createSessionMemory, RUN_STAGE, type SessionMemory } from "./memory.ts";
import { createSpending, enterStep, type LedgerEntry } from "./metered-summarizer.ts";
import { type BelievedWindow, createBelievedWindow } from "./model-window.ts";
import type { ResolvedSessionOptions, SessionPorts } from "./options.ts";
import {
  createKeptOutputs,
  createOutputLimits,
  findUnboundedOutputs,
  type OutputLimits,
} from "./output-limits.ts";
import { createPendingSummaries, type PendingSummaries } from "./pending-summaries.ts";
import { snapshotOf } from "./snapshot.ts";
import { type LearnedWindow, storeBatch } from "./state.ts";
import {
  bindThoughts,
  createThoughtFilter,
  refuseThoughts,
  type StoredBindings,
  sendThoughts,
  type ThoughtBindings,
  type ThoughtWindow,
} from "./thoughts.ts";
import {
  createWindowReader,
  isFinishedAnswer,
  isOfCompaction,
  isShadowBatch,
  nativeBlockOf,
} from "./window.ts";

/** The parts of a session, what it remembers, and the only ways in which it changes. */
export interface SessionCore {
  readonly ports: SessionPorts;
  readonly options: ResolvedSessionOptions;
  readonly history: History;
  readonly meter: ContextMeter;
  readonly log: SessionLog;
  readonly memory: SessionMemory;
  readonly outputLimits: OutputLimits;
  readonly pending: PendingSummaries;
  /** What is believed about the model's window. */
  readonly believed: BelievedWindow;
  /** What the model sees now. */
  window(): ThoughtWindow;
  /** Tool results in the window that count against the cutoff, oldest first. */
  countedResults(): CountedResults;
  /** Outputs that stay whatever goes, oldest first. */
  heldOutputs(): readonly Handle[];
  /** Takes in what the owner of the transcript changed. */
  take(change: (history: History) => HistoryChange): void;
  /** Puts edits in force and journals them; undefined when messages that they need are gone. */
  commit(step: Step, edits: readonly Edit[]): Committed | undefined;
  /** Takes the newest batch back. */
  takeBack(): EditBatch | undefined;
  /** Journals a step that changed nothing. */
  note(entry: Omit<LedgerEntry, "at">): void;
  /** Adds an entry to the ledger without journalling it. */
  enter(entry: LedgerEntry): void;
  /** Starts a new epoch because the window changed: what was counted before no longer holds. */
  changed(kind: string, reason: string): void;
  /** The thoughts that an edit before them would cost; undefined where the provider keeps them. */
  thoughtsAtStake(): LostThoughts | undefined;
  /** Remembers for new thoughts what stood before them when they were made. */
  bindThoughts(): void;
  /** Remembers that the window is being sent now. */
  noteSent(): void;
  /** Leaves out stale thoughts from now on; where that was done already, every thought in the window. False when there was none. */
  refuseThoughts(reason: string): boolean;
}

type CountedResults = ReturnType<ReturnType<typeof createResultCounter>>;

/** A step that edits the window, as it is journalled. */
export interface Step {
  readonly name: string;
  readonly reason: string;
  readonly degraded?: true;
  /** Set when the model has not seen yet what is edited: then its usage still counts. */
  readonly unseen?: true;
  /** What the edits save against what they cost, where that was computed. */
  readonly arithmetic?: CacheArithmetic;
}

interface Committed extends ChangeFigures {
  readonly batch: EditBatch;
}

interface BeforeChange {
  readonly tokens: number;
  /** Thoughts that the provider would have taken as they are. */
  readonly thoughts: number;
}

interface ChangeFigures {
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Thoughts of the model that were sent before, and are not any more. */
  readonly thoughtsLost?: number;
}

/** The parts of a session that has no messages yet. */
export function createSessionCore(given: SessionPorts, options: ResolvedSessionOptions): SessionCore {
  const spending = createSpending(given, options, (used) => log.emit({ type: "summary_usage", ...used }));
  const { ports } = spending;
  const history = createHistory();
  const readWindow = createWindowReader();
  const leaveOutStale = createThoughtFilter();
  const window = (): ThoughtWindow =>
    leaveOutStale(readWindow(history.transcript()), { bindings: memory.thoughts, afterEdit: afterEdit() });
  const meter = createContextMeter(window, options);
  const log = createSessionLog({
    journal: ports.journal,
    clock: ports.clock,
    onEvent: options.onEvent,
    store: (batch) => storeBatch(batch, { source: history.source(), batches: history.batches() }),
    snapshot: () => snapshotOf(core),
  });
  const memory = createSessionMemory(options);
  const believed = createBelievedWindow(options, memory, () => meter.overheadTokens());
  const outputLimits = createOutputLimits(options, () => believed.roomTokens());
  const kept = createKeptOutputs(options, () => believed.roomTokens());
  const countResults = createResultCounter({
    protectedTools: FORK_NO_TRUNCATION_TOOLS,
    pins: options.pins ?? [],
  });
  let results: { readonly marked: Transcript; readonly counted: CountedResults } | undefined;
  let batchCount = 0;
  let writtenWindows: readonly LearnedWindow[] = [];
  let writtenLines: ThoughtBindings["lines"] = new Map();

  function enter(entry: LedgerEntry): void {
    enterStep(memory.ledger, entry);
    // A stage of the user's own may edit at every step, which makes no compaction more useful.
    const isApplied = entry.outcome === "applied" && entry.step !== RUN_STAGE;
    if (isApplied || entry.outcome === "undone") memory.idleCompactions = 0;
    else if (entry.step === "compact" && entry.outcome === "nothing") {
      memory.idleCompactions++;
      memory.idleTokens = meter.estimate().tokens;
    }
  }

  function note(step: Omit<LedgerEntry, "at">, at = ports.clock.now()): LedgerEntry {
    const entry = { ...step, ...spending.sinceLastAsked(), at };
    enter(entry);
    if (entry.outcome !== "applied") log.write({ v: 1, type: "step", ...entry });
    return entry;
  }

  /** What was learned of windows is worth a record of its own when it has changed. */
  function writeWindows(at: number): void {
    const windows = believed.learned();
    if (windows.length === 0 || deepEqual(windows, writtenWindows)) return;
    writtenWindows = windows;
    log.write({ v: 1, type: "windows", windows, at });
  }

  const boundWindow = () => ({ reading: window().thoughts, source: history.source() });

  function afterEdit(): AfterEdit {
    // Whoever does not say which model is asked may well ask one that refuses them.
    if (memory.thoughts.refused || memory.model === undefined) return "refused";
    return believed.facts().afterEdit;
  }

  /** What was bound since it was last written. */
  function newBindings(): StoredBindings {
    const { lines, ...others } = memory.thoughts;
    const bound = [...lines].filter(([id, line]) => writtenLines.get(id) !== line);
    writtenLines = lines;
    return { bound, ...others };
  }

  /** Unique even when the clock stands still or was set back. */
  function freeBatchId(at: number): string {
    let id: string;
    do id = `${at}-${++batchCount}`;
    while (history.hasBatch(id));
    return id;
  }

  /** The window as it is before a change. */
  function measureBefore(tokens = meter.estimateUncounted().tokens): BeforeChange {
    return { tokens, thoughts: window().thoughtCount };
  }

  function startEpoch(kind: string, reason: string, before: BeforeChange): ChangeFigures {
    meter.startEpoch();
    memory.trigger = afterContextChange(memory.trigger);
    return emitChange(kind, reason, before);
  }

  function emitChange(kind: string, reason: string, before: BeforeChange): ChangeFigures {
    memory.version++;
    inspectWindow();
    const tokensAfter = meter.estimateUncounted().tokens;
    const thoughtsLost = Math.max(0, before.thoughts - window().thoughtCount);
    const lost = thoughtsLost > 0 ? { thoughtsLost } : {};
    log.emit({
      type: "context_changed",
      kind,
      reason,
      before: before.tokens,
      after: tokensAfter,
      epoch: meter.epoch(),
      ...lost,
    });
    return { tokensBefore: before.tokens, tokensAfter, ...lost };
  }

  function inspectWindow(): void {
    memory.unbounded = findUnboundedOutputs(window().marked, outputLimits, kept.limitsOf);
    warnOfLetGo();
    if (memory.idleCompactions > 0 && !isFull()) memory.idleCompactions = 0;
    if (memory.held !== undefined && !isFull() && !hasTooManyMessages()) memory.held = undefined;
  }

  /** What should be kept and is not: told once for each. */
  function warnOfLetGo(): void {
    const isThere = (handle: Handle): boolean => {
      const messageId = handle.slice(0, handle.lastIndexOf("/"));
      return history.transcript().some(({ id }) => id === messageId);
    };
    const letGo = kept.newlyLetGo(window().marked, isThere);
    if (letGo.length === 0) return;
    const outputs = letGo.length === 1 ? "An output" : `${letGo.length} outputs`;
    log.warn(
      "kept-let-go",
      `${outputs} that should be kept would not leave enough of the window: ${letGo.join(", ")}`,
    );
  }

  function isFull(): boolean {
    const { limitTokens = Number.POSITIVE_INFINITY } = believed.tokenLimit();
    if (meter.estimate().tokens >= limitTokens || memory.isOverflowSeen) return true;
    return believed.overflowOf(meter.newestStep()?.usage).overflow;
  }

  /** Messages count where no number of tokens is a limit. */
  function hasTooManyMessages(): boolean {
    const { maxMessages } = memory.settings;
    const isCounted = maxMessages > 0 && believed.tokenLimit().limitTokens === undefined;
    return isCounted && window().marked.length >= maxMessages;
  }

  /** Takes in a new request of the user. */
  function noteRequest(message: Message): void {
    if (typedText(message) === "" || memory.requests.has(message.id)) return;
    memory.requests.add(message.id);
    memory.recovery = undefined;
  }

  /** Takes in a finished answer; `sent` is what its request was estimated at, where that is known. */
  function noteAnswer(message: Message, sent: ContextEstimate | undefined): void {
    memory.answers.add(message.id);
    memory.recovery = undefined;
    memory.recoveryCompactions = 0;
    if (memory.model === undefined && message.model !== undefined) {
      memory.model = message.model;
      meter.setModel(message.model);
    }
    if (sent !== undefined) {
      believed.accepted(message.usage, sent.tokens);
      checkSilentOverflow(message, sent);
    }
    warnOfDisagreement(message);
    memory.isJustCompacted = false;
    memory.stages.hasEdited = false;
  }

  /** The two ways to count an overflow may differ; that is worth one warning. */
  function warnOfDisagreement({ usage }: Message): void {
    if (memory.warned.has("formulas-disagree")) return;
    if (!believed.overflowOf(usage).disagreement) return;
    memory.warned.add("formulas-disagree");
    log.warn("formulas-disagree", "The two overflow formulas disagree about the newest usage.");
  }

  /** Looks whether an answer without an error shows that the window was exceeded. */
  function checkSilentOverflow(message: Message, sent: ContextEstimate): void {
    const { reason, isOverflow } = detectSilentOverflow({
      usage: message.usage,
      ...(message.finish !== undefined && { stopReason: message.finish }),
      contextWindowTokens: believed.limits().contextTokens,
      // Where a stage edits at every step, no usage makes the estimate exact enough to show that a prompt was cut. Before
      // there is usage, a model may count far fewer tokens than its family.
      ...(!memory.stages.hasEdited && { sentEstimateTokens: sent.low }),
      moment: memory.isJustCompacted ? "just-compacted" : "other",
    });
    // What was accepted may also be more than a limit of the input.
    const isBelieved = reason === "usage-over-window" || reason === "fits";
    const raisedTokens = isBelieved ? believed.raise(message.usage) : undefined;
    if (raisedTokens !== undefined) {
      memory.version++;
      log.warn(
        "window-raised",
        `The model took more than was known of it: its window counts as ${raisedTokens} tokens from now on.`,
      );
      return;
    }
    if (isOverflow && options.overflow?.auto !== false) memory.isOverflowSeen = true;
    if (reason !== "usage-anomaly") return;
    meter.distrust(message.id);
    log.warn("usage-anomaly", `The usage of ${message.id} cannot be true and is not counted.`);
  }

  function readPendingMarker(): void {
    memory.pendingMarker = pendingMarker(history.transcript())?.trigger ?? "none";
  }

  const core: SessionCore = {
    ports,
    options,
    history,
    meter,
    log,
    memory,
    outputLimits,
    pending: createPendingSummaries({
      journal: (each) => log.write({ v: 1, type: "pending-summary", ...each, at: ports.clock.now() }),
      redaction: options.redaction,
    }),
    believed,
    window,
    enter,
    note: (entry) => void note(entry),

    countedResults() {
      const { marked } = window();
      if (results?.marked !== marked) {
        const held = new Set(kept.held(marked));
        const counted = countResults(marked).filter(
          ({ message, partIndex }) => !held.has(handleOf(message, partIndex)),
        );
        results = { marked, counted };
      }
      return results.counted;
    },

    heldOutputs: () => kept.held(window().marked),

    take(change) {
      const wasEmpty = history.source().length === 0;
      const now = wasEmpty ? undefined : meter.estimate();
      // What was edited or taken back since the request went out was not in it.
      const sent = memory.sent?.estimate ?? now;
      const isOlder = memory.sent !== undefined && memory.sent.epoch !== meter.epoch();
      const before = { transcript: history.transcript(), native: window().native?.messageId };
      const measured = { tokens: now?.tokens ?? 0, thoughts: window().thoughtCount };
      const { changed, extent, dropped } = change(history);
      if (extent === "same") return;
      if (!memory.isRestoring) core.bindThoughts();
      memory.version++;
      for (const batch of dropped) {
        const at = ports.clock.now();
        log.write({ v: 1, type: "drop", batchId: batch.id, at, ...(isFolded(batch) && { folded: true }) });
        log.warn("edits-dropped", `Messages that ${batch.step} edited are gone, so its edits were dropped.`);
      }
      if (extent === "rebuilt" && (history.batches().length > 0 || dropped.length > 0)) {
        startEpoch("base", "the owner changed earlier messages", measured);
      }
      const answers = changed.filter(
        (message) => isFinishedAnswer(message) && !memory.answers.has(message.id),
      );
      const answerIds = new Set(answers.map(({ id }) => id));
      if (answers.length > 0) {
        memory.sent = undefined;
        // Its usage counts a window that is gone.
        if (isOlder && answers[0] !== undefined) meter.distrust(answers[0].id);
      }
      const { native } = window();
      if (native !== undefined && native.messageId !== before.native) {
        memory.beforeNative = before.transcript;
        startEpoch("provider-compacted", native.provider, measured);
      }
      const isAlone = answers.length === 1;
      for (const message of changed) {
        noteRequest(message);
        if (!answerIds.has(message.id)) continue;
        // The usage of an answer with a compaction in it counts what was before, and what was made of it.
        const isCounted = nativeBlockOf(message) === undefined;
        if (!isCounted) answerIds.delete(message.id);
        noteAnswer(message, isAlone && isCounted ? sent : undefined);
      }
      if (answerIds.size > 0) meter.learn(answerIds);
      if (extent === "rebuilt" || changed.some(isOfCompaction)) readPendingMarker();
      inspectWindow();
    },

    commit({ name, reason, degraded, unseen, arithmetic }, edits) {
      const at = ports.clock.now();
      const before = history.transcript();
      const measured = measureBefore();
      const batch = { id: freeBatchId(at), step: name, reason, at, edits };
      if (!history.add(batch)) return undefined;
      if (name === RUN_STAGE) memory.stages.hasEdited = true;
      const change = (unseen ? emitChange : startEpoch)(name, reason, measured);
      const figures = { ...change, ...(degraded && { degraded }) };
      if (memory.pendingMarker !== "none") readPendingMarker();
      const { summaryUsage } = note({ step: name, reason, outcome: "applied", ...figures }, at);
      const after = history.transcript();
      foldHistory(history);
      log.writeBatch(batch, {
        before,
        after,
        estimate: meter.options(),
        thoughts: newBindings(),
        ...figures,
        ...omitUndefined({ arithmetic, summaryUsage }),
      });
      writeWindows(at);
      return { batch, ...change };
    },

    takeBack() {
      const last = history.batches().findLast((batch) => !isShadowBatch(batch));
      if (last === undefined || isFolded(last)) return undefined;
      const measured = measureBefore();
      history.remove(last.id);
      const change = startEpoch("undo", last.step, measured);
      const at = ports.clock.now();
      memory.recovery = undefined;
      memory.pausedThroughTurn = memory.answers.size + COOL_DOWN_TURNS;
      memory.undoneAt = at;
      readPendingMarker();
      note({ step: last.step, reason: "undo", outcome: "undone", ...change }, at);
      log.write({ v: 1, type: "undo", batchId: last.id, at, thoughts: newBindings() });
      return last;
    },

    changed(kind, reason) {
      startEpoch(kind, reason, measureBefore());
      readPendingMarker();
    },

    thoughtsAtStake() {
      if (afterEdit() === "kept") return undefined;
      const { stale, before } = window().thoughts;
      const newest = new Set([...before.keys()].filter((id) => !stale.has(id)).slice(-THOUGHTS_TO_REPEAT));
      const { input, output } = believed.facts().prices ?? USUAL_PRICES;
      return {
        tokensOf: (message: Message) => (newest.has(message.id) ? thoughtTokensOf(message) : 0),
        multiplier: output / input,
      };
    },

    bindThoughts() {
      memory.thoughts = bindThoughts(memory.thoughts, boundWindow());
    },

    noteSent() {
      memory.sent = { estimate: meter.estimate(), epoch: meter.epoch() };
      memory.thoughts = sendThoughts(memory.thoughts, boundWindow());
    },

    refuseThoughts(reason) {
      const measured = measureBefore();
      const { before } = window().thoughts;
      const isAnySent = window().marked.some(
        ({ id, parts }) =>
          before.has(id) && parts.some((part) => part.type === "reasoning" && part.agentVisible !== false),
      );
      if (!isAnySent) return false;
      // Where the rule was not known yet, it is the stale ones that were refused.
      const isNewRule = afterEdit() !== "refused" && window().thoughts.stale.size > 0;
      memory.thoughts = isNewRule
        ? { ...memory.thoughts, refused: true }
        : refuseThoughts(memory.thoughts, window().thoughts);
      startEpoch("thoughts-refused", reason, measured);
      log.write({ v: 1, type: "thoughts", at: ports.clock.now(), thoughts: newBindings() });
      return true;
    },
  };
  return core;
}

/** Where a model's prices are not known: of output and input at most providers. */
const USUAL_PRICES = { input: 1, output: 5 };

/** What a message's thoughts took to think; their text is often not in it. */
function thoughtTokensOf({ usage }: Message): number {
  return usage?.reasoningTokens || USUAL_THOUGHT_TOKENS;
}

/** The mean of recorded requests. */
const USUAL_THOUGHT_TOKENS = 350;
/** What a model has to think again to go on: older thoughts have become answers. */
const THOUGHTS_TO_REPEAT = 10;
