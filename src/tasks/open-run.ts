import type { ForkRecord, LiveRun } from "./fork-record.ts";
import type { ForkStep } from "./fork-step.ts";

/** Puts the next run of a fork whose last run is over into the queue. */
export function openRun(record: ForkRecord, opening: RunOpening): ForkStep {
  const run = queuedRun((record.runs.at(-1)?.number ?? 0) + 1, opening);
  return { record: { ...record, runs: [...record.runs, run] }, actions: [{ type: "fill-slots" }] };
}

export interface RunOpening {
  readonly directive: string;
  readonly atMs: number;
  readonly requestId?: string;
  readonly openedBy?: "restart";
}

/** A run that waits for a slot. */
export function queuedRun(number: number, opening: RunOpening): LiveRun {
  const { directive, atMs, requestId, openedBy } = opening;
  return {
    number,
    state: "queued",
    queuedAtMs: atMs,
    lastSignAtMs: atMs,
    lastWatchAtMs: atMs,
    prompts: [
      {
        number: 1,
        kind: "directive",
        text: directive,
        ...(requestId === undefined ? {} : { requestId }),
      },
    ],
    calls: { total: 0, streak: 0, recentIds: [] },
    rateLimits: 0,
    asks: [],
    ...(openedBy === undefined ? {} : { openedBy }),
  };
}
