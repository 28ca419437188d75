/** What a child does while it is killed. */
export type KillKind = "record" | "journal" | "output" | "clean";

export const KILL_KINDS: readonly KillKind[] = ["record", "journal", "output", "clean"];
export const KILL_SIZES_BYTES: readonly number[] = [1_000, 20_000, 2_000_000];
export const RECORD_IDS: readonly string[] = ["fork-1", "fork-2", "a strange/id"];

/** A line by which the child says that this much is safe. */
export interface KillAck {
  readonly id: string;
  readonly count: number;
  readonly handle?: string;
}

/** Text of about this size that can be made again from its seed. */
export function fillerOf(seed: string, sizeBytes: number): string {
  const piece = `${seed} ✓ `;
  return piece.repeat(Math.ceil(sizeBytes / Buffer.byteLength(piece)));
}
