import type { ModelRef } from "../transcript/message.ts";
import type { CompactionSettings } from "./compaction-settings.ts";
import { effectiveKeepRecentTokens, effectiveTokenLimit, type TokenLimit } from "./effective-token-limit.ts";
import { FRESH_TRIGGER, type TriggerState } from "./should-compact-trigger-state.ts";

/**
 * Whether a compaction is due, and why. Asked after every turn and again before every call;
 * the answer depends on the arguments alone.
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

export interface Situation {
  readonly settings: CompactionSettings;
  /** The estimate of the context as it is now. */
  readonly contextTokens: number;
  /** The epoch that the estimate describes; an older one than the state's is not believed. */
  readonly contextEpoch?: number;
  /** Messages the model sees; hidden ones do not count. */
  readonly visibleMessages: number;
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  readonly model?: ModelRef;
  /** The number of the turn that is running; turns count upwards by one. */
  readonly turn?: number;
  readonly state?: TriggerState;
  /** `manual`: a person asks; `recovery`: the provider refused the request. */
  readonly demand?: "none" | "manual" | "recovery";
}

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
