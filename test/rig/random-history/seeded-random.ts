/** A source of numbers that look like chance and are the same for the same seed. */
export interface SeededRandom {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  /** True in so many of a hundred throws. */
  chance(percent: number): boolean;
  /** One of some items. */
  oneOf<Item>(items: readonly Item[]): Item;
}

/** Dice for a seed. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = (seed * 2_654_435_761) >>> 0;

  function below(limit: number): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  return {
    below,
    chance: (percent) => below(100) < percent,
    oneOf: (items) => items[below(items.length)] as (typeof items)[number],
  };
}
