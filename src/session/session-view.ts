import { isOverflow } from "../compaction/is-overflow.ts";
import type { RecoveryRequest } from "../compaction/recovery-ladder.ts";
import { shouldCompact } from "../compaction/should-compact.ts";
import { CHARS_PER_TOKEN } from "../text/estimate-tokens.ts";
import type { SentBeside } from "./context-meter.ts";
import { type MechanicalPlan, planMechanicalEdits } from "./mechanical-edits.ts";
import type { Moment, SessionView } from "./next-action.ts";
import { nextRecoveryAction } from "./recovery-action.ts";
import { maxCompactionRecoveries } from "./recovery-state.ts";
import type { SessionCore } from "./session-core.ts";
import { cacheOf } from "./session-options.ts";
import { marksWithin } from "./session-prune.ts";
import { sparePins } from "./spare-pins.ts";

/** Reads everything a decision depends on out of a session, changing nothing. */
export function viewOf(core: SessionCore, asked: Asked): SessionView {
  const { memory, meter, line, options } = core;
  const { moment = "before-call", demand = "none" } = asked;
  // A clock that was set back gives less than no time.
  const idleMs = asked.idleMs !== undefined && asked.idleMs > 0 ? asked.idleMs : 0;
  const estimate = meter.estimate();
  const turn = memory.answers.size;
  const decision = shouldCompact({
    settings: memory.settings,
    contextTokens: estimate.tokens,
    contextEpoch: memory.trigger.epoch,
    visibleMessages: line.window().marked().length,
    contextWindowTokens: memory.limits.contextTokens,
    ...(memory.model && { model: memory.model }),
    turn,
    state: memory.trigger,
    demand,
  });
  const { limitTokens = Number.POSITIVE_INFINITY } = decision.limit;
  const usage = meter.newestStep()?.usage;
  const overflow = isOverflow({
    usage,
    limits: memory.limits,
    settings: { ...options.overflow, auto: memory.settings.autoCompact },
  });
  const isSpent = (step: string): boolean => memory.spent.get(step) === memory.version;
  const profile = cacheOf(options, memory.model);
  const { pruning } = options;
  // A limit that stands in for an unknown window matters only where something is compacted at it.
  const isAssumed = decision.limit.source === "max_tokens" && !memory.settings.autoCompact;
  const roomTokens = isAssumed ? Number.POSITIVE_INFINITY : limitTokens;
  const mechanical = ({ neededTokens, expectedTurns }: Wanted): MechanicalPlan | undefined =>
    pruning === undefined || isSpent("prune") || isSpent("supersede")
      ? undefined
      : planMechanicalEdits(line.transcript(), {
          prune: pruning.how === "lines" ? marksWithin(pruning, roomTokens) : pruning,
          profile,
          expectedTurns: expectedTurns ?? options.expectedTurns,
          estimate: meter.options(),
          leadingTokens: leadingTokens(meter.options()),
          idleMs,
          ...(neededTokens !== undefined && { neededTokens }),
          spare: (edits) => sparePins(edits, options.pins ?? [], line.find),
        });
  return {
    version: memory.version,
    moment,
    demand,
    isBusy: memory.isRunning,
    fits: estimate.tokens < limitTokens,
    recovery: () =>
      memory.recovery &&
      nextRecoveryAction(memory.recovery, {
        transcript: line.transcript(),
        version: memory.version,
        ladder: ladderOf(core),
      }),
    unboundedOutputs: isSpent("bound-outputs") ? [] : memory.unbounded.handles,
    marker: memory.pendingMarker,
    markerOwner: memory.owner,
    isToolSummaryDue: isToolSummaryDue(core),
    visibleResults: core.results.visibleResults(),
    decision,
    isOverflowing: overflow.overflow || memory.isOverflowSeen,
    isHeld: turn <= memory.heldThroughTurn,
    idleCompactions: core.ledger.idleCompactions(),
    isCompactionSpent: isSpent("compact"),
    sparingEdits() {
      const overTokens = Math.max(
        estimate.tokens - limitTokens * SPARED_SHARE,
        overflow.overflow ? overflow.countTokens - overflow.usableTokens * SPARED_SHARE : 0,
      );
      return overTokens > 0 ? mechanical({ neededTokens: Math.ceil(overTokens) }) : undefined;
    },
    payingEdits() {
      const isPressing = estimate.tokens >= limitTokens * PRESSING_SHARE;
      const expectedTurns = isPressing
        ? options.expectedTurns
        : Math.max(1, options.expectedTurns * EASY_SHARE);
      const isCold = idleMs > profile.ttlMs;
      // What is old enough to go changes with the user's requests and with what has come in, not with every message;
      // while nobody needs the room, looking again after some growth is enough.
      const requests = isPressing ? memory.requests.size : "easy";
      const grown = Math.floor(Math.log(Math.max(1, estimate.tokens)) / Math.log(1 + GROWTH_SHARE));
      const key = [line.window().version(), requests, isCold, grown].join("/");
      if (memory.paying?.key !== key) memory.paying = { key, plan: mechanical({ expectedTurns }) };
      return memory.paying.plan;
    },
  };
}

export interface Asked {
  readonly moment?: Moment;
  /** `manual`: a person wants a compaction now. */
  readonly demand?: "none" | "manual";
  /** Time since the last request, where known: the provider's cache may be gone. */
  readonly idleMs?: number;
}

/** What the ladder of recovery is told about a session. */
export function ladderOf(core: SessionCore): Omit<RecoveryRequest, "limitTokens" | "tried"> {
  const { memory, meter, options, ports } = core;
  const outputMaxChars = core.outputLimits.one()?.maxBytes ?? 0;
  const canAsk = ports.summarizer !== undefined && memory.recoveryCompactions < maxCompactionRecoveries;
  return {
    estimate: meter.options(),
    model: canAsk ? "available" : "not-available",
    representation: options.representation,
    redaction: options.redaction,
    ...(options.pins && { pins: options.pins }),
    ...(outputMaxChars > 0 && { outputMaxChars }),
  };
}

function leadingTokens({ systemChars = 0, toolsChars = 0 }: SentBeside): number {
  return Math.ceil((systemChars + toolsChars) / CHARS_PER_TOKEN);
}

/** Clearing has to leave some room, or the compaction follows a moment later. */
const SPARED_SHARE = 0.9;
/** Below this nobody needs the room: an edit has to pay for itself in a part of the requests that are expected. */
const PRESSING_SHARE = 0.5;
const EASY_SHARE = 0.5;
/** A plan reads the whole window, so it is made anew only when that has become larger by this share. */
const GROWTH_SHARE = 0.05;

interface Wanted {
  readonly neededTokens?: number;
  readonly expectedTurns?: number;
}

function isToolSummaryDue({ memory, results }: SessionCore): boolean {
  const { toolCallCutoff, toolSummaryStrategy } = memory.settings;
  if (toolSummaryStrategy === "off" || toolCallCutoff <= 0) return false;
  if (memory.spent.get("summarize-tool-results") === memory.version) return false;
  if (memory.pendingSummaries.length > 0) return true;
  return results.visibleResults() > toolCallCutoff && results.answeredResults() > 0;
}
