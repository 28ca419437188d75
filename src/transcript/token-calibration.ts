import { familyCost, type TokenFamily } from "../text/token-model-families.ts";

/** What a session's own usage has taught about its model's tokens. */
export interface TokenCalibration {
  /** Tokens of the model for one token of the unscaled estimate. */
  readonly scale: number;
  /** How far observations lie from the scale, as a share of it. */
  readonly spread: number;
  readonly observations: number;
  /** The newest epoch seen; an older observation describes a context that no longer exists. */
  readonly epoch: number;
  /** Which model this is about; another one starts anew. */
  readonly model: string;
}

/** One comparison of our estimate with the provider's count of the same text. */
export interface TokenObservation {
  /** Unscaled, without the price of calls and media. */
  readonly estimatedTokens: number;
  /** What the provider counted for the same text. */
  readonly usageTokens: number;
  readonly epoch: number;
  readonly model: string;
}

/** A calibration that knows nothing yet but the family's default. */
export function startCalibration(model: string, family: TokenFamily): TokenCalibration {
  const { scale, scaleMargin } = familyCost(family);
  return { scale, spread: scaleMargin, observations: 0, epoch: 0, model };
}

/**
 * The calibration after one more observation; the same object when the observation teaches nothing: from an
 * older epoch or another model, too small, malformed, or so far off that something else must be in it.
 */
export function calibrate(state: TokenCalibration, observation: TokenObservation): TokenCalibration {
  const { estimatedTokens, usageTokens, epoch, model } = observation;
  if (model !== state.model || !(epoch >= state.epoch)) return state;
  if (!(estimatedTokens >= MIN_ESTIMATED_TOKENS)) return state;
  const ratio = usageTokens / estimatedTokens;
  if (!(ratio >= MIN_RATIO && ratio <= MAX_RATIO)) return state;

  const observations = state.observations + 1;
  // The family's default counts as one observation; later ones weigh at least a tenth, so that a change shows.
  const rate = Math.max(MIN_RATE, 1 / (observations + 1));
  // Text that only the provider sees makes single ratios far too high; a bounded pull keeps to the middle.
  const pull = clamp(ratio - state.scale, -MAX_PULL * state.scale, MAX_PULL * state.scale);
  const scale = clamp(state.scale + rate * pull, MIN_SCALE, MAX_SCALE);
  const distance = Math.abs(ratio - scale) / scale;
  return { model, epoch, observations, scale, spread: state.spread + rate * (distance - state.spread) };
}

const MIN_ESTIMATED_TOKENS = 200;
const MIN_RATIO = 0.25;
const MAX_RATIO = 4;
const MIN_SCALE = 0.5;
const MAX_SCALE = 2.5;
const MIN_RATE = 0.1;
const MAX_PULL = 0.2;

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
