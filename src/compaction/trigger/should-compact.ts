import type { CompactionSettings } from "./compaction-settings.ts";
import {
  effectiveKeepRecentTokens,
  effectiveTokenLimit,
  type ModelWindow,
  type TokenLimit,
} from "./token-limit.ts";

/**
 * Whether a compaction is due by the estimate of the context, and why. Asked after every turn and again before every call;
 * the answer depends on the arguments alone. The limit comes from the settings and the model's window
 * (`effectiveTokenLimit`); what has to be remembered between turns is a `TriggerState`. Overflow by the provider's own
 * count is in `overflow.ts`.
 */
export function shouldCompact(situation: Situation): CompactDecision {
  const limit = effectiveTokenLimit(situation.settings, situation);
  const decide = (reason: CompactReason): CompactDecision => ({
    compact: DUE.has(reason),
    reason,
    limit,
    contextTokens: situation.contextTokens,
    keepRecentTokens: effectiveKeepRecentTokens(situation.settings, limit),
  });

  const { settings, demand = "none" } = situation;
  if (demand === "manual") return decide("manual");
  if (!settings.autoCompact) return decide("auto-off");
  if (demand === "recovery") return decide("recovery");

  const reason = thresholdReason(situation, limit);
  if (!DUE.has(reason)) return decide(reason);
  const { coolDownThroughTurn = -1 } = situation.state ?? FRESH_TRIGGER;
  return decide(
    (situation.turn ?? Number.POSITIVE_INFINITY) <= coolDownThroughTurn ? "cooling-down" : reason,
  );
}

/** What `shouldCompact` decides by. */
export interface Situation extends ModelWindow {
  readonly settings: CompactionSettings;
  /** The estimate of the context as it is now. */
  readonly contextTokens: number;
  /** The epoch that the estimate describes; an older one than the state's is ignored. */
  readonly contextEpoch?: number;
  /** Messages the model sees; hidden ones do not count. */
  readonly visibleMessages: number;
  /** The number of the turn that is running; turns count upwards by one. */
  readonly turn?: number;
  readonly state?: TriggerState;
  /** `manual`: a person asks; `recovery`: the provider refused the request. */
  readonly demand?: "none" | "manual" | "recovery";
}

/** Whether to compact, the reason, and the limit that was applied. */
export interface CompactDecision {
  readonly compact: boolean;
  readonly reason: CompactReason;
  readonly limit: TokenLimit;
  readonly contextTokens: number;
  /** How much of the newest part stays, with the clamp applied. */
  readonly keepRecentTokens: number;
}

export type CompactReason =
  | "manual"
  | "recovery"
  | "over-limit"
  | "over-messages"
  | "auto-off"
  | "under-limit"
  | "under-messages"
  | "stale-estimate"
  | "cooling-down";

const DUE: ReadonlySet<CompactReason> = new Set(["manual", "recovery", "over-limit", "over-messages"]);

function thresholdReason(situation: Situation, { limitTokens }: TokenLimit): CompactReason {
  const { settings, contextTokens, visibleMessages } = situation;
  if (limitTokens === undefined) {
    return settings.maxMessages > 0 && visibleMessages >= settings.maxMessages
      ? "over-messages"
      : "under-messages";
  }
  const { epoch } = situation.state ?? FRESH_TRIGGER;
  if ((situation.contextEpoch ?? epoch) < epoch) return "stale-estimate";
  return contextTokens >= limitTokens ? "over-limit" : "under-limit";
}

/** What the trigger remembers between turns: plain data, so that it can be stored with the session. */
export interface TriggerState {
  /** Counts the changes of the context; an estimate of an earlier epoch describes a context that is gone. */
  readonly epoch: number;
  /** No automatic compaction up to and including this turn. */
  readonly coolDownThroughTurn?: number;
}

/** The state of a session that was never compacted. */
export const FRESH_TRIGGER: TriggerState = { epoch: 0 };

/** Turns without automatic compaction after one that freed too little. */
export const COOL_DOWN_TURNS = 3;

/** The share of the limit that a compaction has to free. */
const USEFUL_SHARE = 0.1;

/** The state after a compaction, with a warning when it freed so little that the next ones have to wait. */
export function afterCompaction(state: TriggerState, result: CompactionGain): TriggerUpdate {
  const freedTokens = result.tokensBefore - result.tokensAfter;
  const epoch = state.epoch + 1;
  const { limitTokens } = result.limit;
  if (limitTokens === undefined || freedTokens >= limitTokens * USEFUL_SHARE) return { state: { epoch } };
  const coolDownThroughTurn = result.turn + COOL_DOWN_TURNS;
  return {
    state: { epoch, coolDownThroughTurn },
    warning: { type: "compaction-gained-little", freedTokens, limitTokens, coolDownThroughTurn },
  };
}

interface CompactionGain {
  readonly turn: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly limit: Pick<TokenLimit, "limitTokens">;
}

interface TriggerUpdate {
  readonly state: TriggerState;
  readonly warning?: {
    readonly type: "compaction-gained-little";
    readonly freedTokens: number;
    readonly limitTokens: number;
    readonly coolDownThroughTurn: number;
  };
}

/** What a person may ask about the trigger: all settings, the window, the limit and how full the context is. */
export interface TriggerStatus extends TokenLimit {
  readonly settings: CompactionSettings;
  readonly contextWindowTokens: number;
  /** The estimate of the context as it is now. */
  readonly tokens: number;
}
