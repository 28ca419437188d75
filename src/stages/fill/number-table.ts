/** Gives equal hashes the same small number, counted from 0. Different texts with one hash count as the same. */
export interface NumberTable {
  numberOf(hash: number): number;
  size(): number;
}

/** An empty table; it grows as needed. */
export function createNumberTable(): NumberTable {
  let mask = 4095;
  let hashes = new Int32Array(mask + 1);
  // Numbers are kept one higher, so that 0 is a free slot.
  let numbers = new Int32Array(mask + 1);
  let size = 0;

  function slotOf(hash: number): number {
    let slot = (hash ^ (hash >>> 15)) & mask;
    while (numbers[slot] !== 0 && hashes[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  function grow(): void {
    const [oldHashes, oldNumbers] = [hashes, numbers];
    mask = mask * 2 + 1;
    hashes = new Int32Array(mask + 1);
    numbers = new Int32Array(mask + 1);
    for (const [index, number] of oldNumbers.entries()) {
      if (number === 0) continue;
      const slot = slotOf(oldHashes[index] ?? 0);
      hashes[slot] = oldHashes[index] ?? 0;
      numbers[slot] = number;
    }
  }

  return {
    numberOf(hash) {
      const slot = slotOf(hash);
      const known = numbers[slot] ?? 0;
      if (known !== 0) return known - 1;
      hashes[slot] = hash;
      numbers[slot] = ++size;
      if (size * 2 > mask) grow();
      return size - 1;
    },
    size: () => size,
  };
}
