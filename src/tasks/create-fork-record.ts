import type { ForkRecord } from "./fork-record.ts";
import { queuedRun } from "./open-run.ts";

/** The record of a new fork: its first run waits in the queue. */
export function createForkRecord(fork: NewFork): ForkRecord {
  const { directive, atMs, ...rest } = fork;
  return {
    schema: "fork/1",
    ...rest,
    spent: { costUSD: 0, tokens: 0, steps: 0 },
    runs: [queuedRun(1, { directive, atMs })],
  };
}

/** What must be known to start a fork. */
export interface NewFork extends Omit<ForkRecord, "schema" | "spent" | "runs" | "childSessionId"> {
  readonly directive: string;
  readonly atMs: number;
}
