import type { HookStrikes } from "../compaction/ask.ts";
import { typedText } from "../compaction/plan/window.ts";
import type { PendingToolSummary } from "../compaction/tool-summaries/maybe-summarize-tool-results.ts";
import { detectSilentOverflow, hasPendingMarker, isOverflow } from "../compaction/trigger/overflow.ts";
import {
  afterContextChange,
  COOL_DOWN_TURNS,
  FRESH_TRIGGER,
  type TriggerState,
} from "../compaction/trigger/should-compact.ts";
import { compactionPart } from "../stages/boundary.ts";
import type { CacheArithmetic } from "../stages/cache-plan.ts";
import type { Edit } from "../transcript/edit.ts";
import {
  isVisibleToModel,
  type Message,
  type MessageId,
  reachesModel,
  type Transcript,
} from "../transcript/message.ts";
import {
  type ContextMeter,
  createContextMeter,
  createResultCounter,
  type ResultCounter,
} from "./context-meter.ts";
import { createHistory, type EditBatch, type History, type HistoryChange } from "./history.ts";
import {
  batchRecord,
  createLedger,
  createSessionLog,
  type Ledger,
  type LedgerEntry,
  type SessionLog,
  type WarningCode,
} from "./log.ts";
import type { ResolvedSessionOptions, SessionPorts } from "./options.ts";
import {
  createOutputLimits,
  findUnboundedOutputs,
  NOTHING_UNBOUNDED,
  type OutputLimits,
  tokenLimitOf,
  type UnboundedOutputs,
} from "./output-limits.ts";
import type { MechanicalPlan } from "./prune.ts";
import type { RecoveryState } from "./recovery.ts";
import { isOfCompaction } from "./window.ts";

/** The inside of a session: its parts, what it remembers, and the only ways in which it changes. */
export interface SessionCore {
  readonly ports: SessionPorts;
  readonly options: ResolvedSessionOptions;
  readonly line: History;
  readonly meter: ContextMeter;
  readonly results: ResultCounter;
  readonly ledger: Ledger;
  readonly log: SessionLog;
  readonly memory: SessionMemory;
  readonly outputLimits: OutputLimits;
  /** Takes in what the owner of the transcript changed. */
  take(change: (line: History) => HistoryChange): void;
  /** Puts edits in force, journalled; undefined when they speak of messages that are gone. */
  commit(step: Step, edits: readonly Edit[]): Committed | undefined;
  /** Takes the newest batch back. */
  takeBack(): EditBatch | undefined;
  /** Writes down a step that changed nothing. */
  note(entry: Omit<LedgerEntry, "at">): void;
  /** Says that the window is another one, for whatever reason: what was counted before no longer holds. */
  changed(kind: string, reason: string): void;
}

export interface Step {
  readonly name: string;
  readonly reason: string;
  readonly degraded?: true;
  /** Set when the model has seen nothing yet of what is edited: then what it counted before still holds. */
  readonly unseen?: true;
  /** Set when it was weighed what the edits save against what they cost. */
  readonly arithmetic?: CacheArithmetic;
}

interface Committed {
  readonly batch: EditBatch;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** The inside of a session that has seen nothing yet. */
export function createSessionCore(ports: SessionPorts, options: ResolvedSessionOptions): SessionCore {
  const line = createHistory();
  const meter = createContextMeter(line.window(), options);
  const ledger = createLedger();
  const log = createSessionLog({ journal: ports.journal, clock: ports.clock, onEvent: options.onEvent });
  const memory = createSessionMemory(options);
  const outputLimits = createOutputLimits(options, memory);
  let batchCount = 0;

  function note(entry: Omit<LedgerEntry, "at">, at = ports.clock.now()): void {
    ledger.enter({ ...entry, at });
    if (entry.outcome !== "applied") log.write({ v: 1, type: "step", ...entry, at });
  }

  /** A clock that stands still or was set back must not name two batches alike. */
  function freeBatchId(at: number): string {
    const taken = new Set(line.batches().map(({ id }) => id));
    let id: string;
    do id = `${at}-${++batchCount}`;
    while (taken.has(id));
    return id;
  }

  /** What a change of the window means for everything that was counted. */
  function startEpoch(kind: string, reason: string, tokensBefore: number): number {
    meter.startEpoch();
    memory.trigger = afterContextChange(memory.trigger);
    return tellChange(kind, reason, tokensBefore);
  }

  function tellChange(kind: string, reason: string, tokensBefore: number): number {
    memory.version++;
    lookAtWindow();
    const tokensAfter = meter.estimateUncounted().tokens;
    log.emit({
      type: "context_changed",
      kind,
      reason,
      before: tokensBefore,
      after: tokensAfter,
      epoch: meter.epoch(),
    });
    return tokensAfter;
  }

  function lookAtWindow(): void {
    memory.unbounded = findUnboundedOutputs(line.window().marked(), outputLimits);
    if (ledger.idleCompactions() > 0 && !isFull()) ledger.endIdleCompactions();
  }

  function isFull(): boolean {
    const { limitTokens = Number.POSITIVE_INFINITY } = tokenLimitOf(memory);
    if (meter.estimate().tokens >= limitTokens || memory.isOverflowSeen) return true;
    const usage = meter.newestStep()?.usage;
    return isOverflow({ usage, limits: memory.limits, settings: options.overflow ?? {} }).overflow;
  }

  function hear(message: Message, sentTokens: number, isAlone: boolean): void {
    if (typedText(message) !== "" && !memory.requests.has(message.id)) {
      memory.requests.add(message.id);
      memory.recovery = undefined;
    }
    if (!isAnswer(message) || memory.answers.has(message.id)) return;
    memory.answers.add(message.id);
    memory.recovery = undefined;
    memory.recoveryCompactions = 0;
    if (memory.model === undefined && message.model !== undefined) {
      memory.model = message.model;
      meter.setModel(message.model);
    }
    if (isAlone) weigh(message, sentTokens);
    compareProfiles(message);
    memory.isJustCompacted = false;
  }

  /** The two ways to count an overflow may differ; that is worth saying once. */
  function compareProfiles({ usage }: Message): void {
    if (memory.warned.has("formulas-disagree")) return;
    const settings = options.overflow ?? {};
    if (!isOverflow({ usage, limits: memory.limits, settings }).disagreement) return;
    memory.warned.add("formulas-disagree");
    log.warn("formulas-disagree", "The two overflow formulas disagree about the newest usage.");
  }

  /** Looks whether an answer that came without an error tells of a window that was too small. */
  function weigh(message: Message, sentTokens: number): void {
    const { reason, isOverflow } = detectSilentOverflow({
      usage: message.usage,
      ...(message.finish !== undefined && { stopReason: message.finish }),
      contextWindowTokens: memory.limits.contextTokens,
      sentEstimateTokens: sentTokens,
      moment: memory.isJustCompacted ? "just-compacted" : "other",
    });
    if (isOverflow) memory.isOverflowSeen = true;
    if (reason !== "usage-anomaly") return;
    meter.distrust(message.id);
    log.warn("usage-anomaly", `The usage of ${message.id} cannot be true and is not counted.`);
  }

  return {
    ports,
    options,
    line,
    meter,
    results: createResultCounter(line.window(), options.pins ?? []),
    ledger,
    log,
    memory,
    outputLimits,

    take(change) {
      const wasEmpty = line.base().length === 0;
      const sentTokens = wasEmpty ? 0 : meter.estimate().tokens;
      const { changed, extent, dropped } = change(line);
      if (extent === "same") return;
      memory.version++;
      for (const batch of dropped) {
        log.write({ v: 1, type: "drop", batchId: batch.id, at: ports.clock.now() });
        log.warn("edits-dropped", `The messages that ${batch.step} spoke of are gone, and it with them.`);
      }
      if (extent === "rebuilt" && (line.batches().length > 0 || dropped.length > 0)) {
        startEpoch("base", "the owner changed earlier messages", sentTokens);
      }
      const answers = changed.filter((message) => isAnswer(message) && !memory.answers.has(message.id));
      for (const message of changed) hear(message, sentTokens, answers.length === 1 && !wasEmpty);
      if (answers.length > 0) meter.learn(new Set(answers.map(({ id }) => id)));
      if (extent === "rebuilt" || changed.some(isOfCompaction)) {
        memory.pendingMarker = pendingMarkerOf(line.transcript());
      }
      lookAtWindow();
    },

    commit({ name, reason, degraded, unseen, arithmetic }, edits) {
      const at = ports.clock.now();
      const before = line.transcript();
      const tokensBefore = meter.estimateUncounted().tokens;
      const batch = { id: freeBatchId(at), step: name, reason, at, edits };
      if (!line.add(batch)) return undefined;
      const tokensAfter = (unseen ? tellChange : startEpoch)(name, reason, tokensBefore);
      const figures = { tokensBefore, tokensAfter, ...(degraded && { degraded }) };
      if (memory.pendingMarker !== "none") memory.pendingMarker = pendingMarkerOf(line.transcript());
      note({ step: name, reason, outcome: "applied", ...figures }, at);
      log.write(
        batchRecord(batch, {
          before,
          after: line.transcript(),
          estimate: meter.options(),
          ...figures,
          ...(arithmetic && { arithmetic }),
        }),
      );
      return { batch, tokensBefore, tokensAfter };
    },

    takeBack() {
      const last = line.batches().at(-1);
      if (last === undefined) return undefined;
      const tokensBefore = meter.estimateUncounted().tokens;
      line.remove(last.id);
      const tokensAfter = startEpoch("undo", last.step, tokensBefore);
      const at = ports.clock.now();
      memory.recovery = undefined;
      memory.heldThroughTurn = memory.answers.size + COOL_DOWN_TURNS;
      memory.pendingMarker = pendingMarkerOf(line.transcript());
      note({ step: last.step, reason: "undo", outcome: "undone", tokensBefore, tokensAfter }, at);
      log.write({ v: 1, type: "undo", batchId: last.id, at });
      return last;
    },

    note: (entry) => note(entry),

    changed(kind, reason) {
      startEpoch(kind, reason, meter.estimateUncounted().tokens);
      memory.pendingMarker = pendingMarkerOf(line.transcript());
    },
  };
}

/** True for a finished answer of the model. */
function isAnswer(message: Message): boolean {
  return (
    message.role === "assistant" &&
    message.summary !== true &&
    message.error === undefined &&
    message.unfinished !== true &&
    isVisibleToModel(message) &&
    message.parts.some(reachesModel)
  );
}

function pendingMarkerOf(transcript: Transcript): PendingMarker {
  if (!hasPendingMarker(transcript)) return "none";
  const marker = transcript.findLast(
    (message) => isVisibleToModel(message) && compactionPart(message) !== undefined,
  );
  return (marker && compactionPart(marker)?.trigger) ?? "none";
}

/** What a session remembers from one moment to the next. */
interface SessionMemory {
  /** Grows with every change of anything. */
  version: number;
  owner: "session" | "host";
  settings: ResolvedSessionOptions["settings"];
  limits: ResolvedSessionOptions["limits"];
  model: ResolvedSessionOptions["model"];
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
type PendingMarker = "none" | "auto" | "manual";

/** The memory of a session that has seen nothing yet. */
function createSessionMemory(options: ResolvedSessionOptions): SessionMemory {
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
