/** An empty table; it grows as needed. */
export function createInternTable(): InternTable {
  return { slots: new Int32Array(1 << 13), size: 0 };
}

/** Gives equal hashes the same small number, counted from 0. Different texts with one hash count as the same. */
export interface InternTable {
  /** Hash and number are adjacent in memory. Numbers are stored plus 1, so that 0 is a free slot. */
  slots: Int32Array;
  size: number;
}

/** The number of a hash, which must be a signed integer. */
export function numberOf(table: InternTable, hash: number): number {
  const { slots } = table;
  const slot = slotOf(slots, hash);
  const known = slots[slot + 1] ?? 0;
  if (known !== 0) return known - 1;
  slots[slot] = hash;
  slots[slot + 1] = ++table.size;
  if (table.size * 4 > slots.length) table.slots = grown(slots);
  return table.size - 1;
}

function slotOf(slots: Int32Array, hash: number): number {
  const mask = slots.length - 2;
  let slot = ((hash ^ (hash >>> 15)) << 1) & mask;
  while (slots[slot + 1] !== 0 && slots[slot] !== hash) slot = (slot + 2) & mask;
  return slot;
}

function grown(slots: Int32Array): Int32Array {
  const larger = new Int32Array(slots.length * 4);
  for (let at = 0; at < slots.length; at += 2) {
    if (slots[at + 1] === 0) continue;
    const slot = slotOf(larger, slots[at] ?? 0);
    larger[slot] = slots[at] ?? 0;
    larger[slot + 1] = slots[at + 1] ?? 0;
  }
  return larger;
}
