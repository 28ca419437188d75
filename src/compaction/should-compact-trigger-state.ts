import type { TokenLimit } from "./effective-token-limit.ts";

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
export const USEFUL_SHARE = 0.1;

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

/** The state after any other change of the context: a prune, an archive, a switch of model. */
export function afterContextChange(state: TriggerState): TriggerState {
  return { ...state, epoch: state.epoch + 1 };
}

export interface CompactionGain {
  readonly turn: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly limit: Pick<TokenLimit, "limitTokens">;
}

export interface TriggerUpdate {
  readonly state: TriggerState;
  readonly warning?: TriggerWarning;
}

export interface TriggerWarning {
  readonly type: "compaction-gained-little";
  readonly freedTokens: number;
  readonly limitTokens: number;
  readonly coolDownThroughTurn: number;
}
