/** The mean of one figure per session, with a bootstrap over sessions. The same figures give the same interval. */
export function bootstrap(figures: readonly number[]): Interval {
  const sessions = figures.length;
  if (sessions < MIN_SESSIONS) return { mean: meanOf(figures), low: Number.NaN, high: Number.NaN, sessions };
  const draw = createRandom(SEED);
  const means = Array.from({ length: SAMPLES }, () => {
    let sum = 0;
    for (let index = 0; index < sessions; index++) sum += figures[Math.floor(draw() * sessions)] ?? 0;
    return sum / sessions;
  }).sort((one, other) => one - other);
  return {
    mean: meanOf(figures),
    low: means[Math.floor(0.025 * SAMPLES)] ?? Number.NaN,
    high: means[Math.floor(0.975 * SAMPLES)] ?? Number.NaN,
    sessions,
  };
}

/** A mean over sessions with the interval that holds it in 95 of 100 samples of sessions. */
export interface Interval {
  /** NaN when there was nothing to average. */
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly sessions: number;
}

/** The plain mean; NaN of nothing. */
export function meanOf(figures: readonly number[]): number {
  return figures.reduce((sum, figure) => sum + figure, 0) / figures.length;
}

/** The value below which this share of the figures lies; NaN of nothing. */
export function quantileOf(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Below this number of sessions there is no interval. */
const MIN_SESSIONS = 3;
const SAMPLES = 2000;
const SEED = 20_261_115;

/** Numbers from 0 to 1 that depend on nothing but the seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
