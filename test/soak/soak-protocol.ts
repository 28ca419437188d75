import type { SoakCounts } from "./soak-life.ts";

/** What one process says of itself after each session, with everything collected that can be. */
export interface SoakSample {
  readonly atMs: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  /** What the shared output folder holds after a cleaning. */
  readonly outputBytes: number;
  readonly counts: SoakCounts;
  /** What went wrong since the last sample. */
  readonly faults: readonly string[];
}

/** How much the output folder may hold. */
export const OUTPUT_CAP_BYTES: number = 8_000_000;
