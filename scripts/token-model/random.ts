/** A repeatable source of chance: the same seed gives the same texts on every machine. */
export interface Random {
  /** A whole number from 0 to `below - 1`. */
  below(below: number): number;
  pick<T>(items: readonly T[]): T;
  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean;
}

/** The Park–Miller generator, which needs whole-number arithmetic only. */
export function createRandom(seed: number): Random {
  let state = (seed % 2147483646) + 1;
  const next = (): number => {
    state = (state * 48271) % 2147483647;
    return state;
  };
  for (let round = 0; round < 8; round++) next();
  const below = (limit: number): number => Math.floor((next() / 2147483647) * limit);
  return {
    below,
    pick<T>(items: readonly T[]): T {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("cannot pick from an empty list; give it at least one item");
      return item;
    },
    chance: (percent) => below(100) < percent,
  };
}
