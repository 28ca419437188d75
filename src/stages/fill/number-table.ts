/** Gives equal hashes the same small number, counted from 0. Different texts with one hash count as the same. */
export interface NumberTable {
  numberOf(hash: number): number;
  size(): number;
}

/** An empty table; it grows as needed. */
export function createNumberTable(): NumberTable {
  let mask = 4095;
  // Hash and number side by side: one look into memory. Numbers are kept one higher, so that 0 is a free slot.
  let slots = new Int32Array((mask + 1) * 2);
  let size = 0;

  function slotOf(hash: number): number {
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (slots[slot * 2 + 1] !== 0 && slots[slot * 2] !== hash) slot = (slot + 1) & mask;
    return slot * 2;
  }

  function grow(): void {
    const old = slots;
    mask = mask * 4 + 3;
    slots = new Int32Array((mask + 1) * 2);
    for (let at = 0; at < old.length; at += 2) {
      if (old[at + 1] === 0) continue;
      const slot = slotOf(old[at] ?? 0);
      slots[slot] = old[at] ?? 0;
      slots[slot + 1] = old[at + 1] ?? 0;
    }
  }

  return {
    numberOf(hash) {
      const slot = slotOf(hash);
      const known = slots[slot + 1] ?? 0;
      if (known !== 0) return known - 1;
      slots[slot] = hash;
      slots[slot + 1] = ++size;
      if (size * 2 > mask) grow();
      return size - 1;
    },
    size: () => size,
  };
}
