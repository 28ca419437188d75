import { omitUndefined } from "../../text/unknown-value.ts";
import type { ForkStep } from "./events.ts";
import type { AskingCall, ForkRecord, LiveRun } from "./record.ts";

/** The record of a new fork: its first run waits in the queue. */
export function createForkRecord(fork: NewFork): ForkRecord {
  const { task, atMs, askedBy, ...rest } = fork;
  return {
    schema: "fork/1",
    ...rest,
    spent: { costUSD: 0, tokens: 0, steps: 0 },
    runs: [queuedRun(1, { task, atMs, ...omitUndefined({ askedBy }) })],
  };
}

/** What a new fork needs. */
export interface NewFork extends Omit<ForkRecord, "schema" | "spent" | "runs" | "childSessionId"> {
  readonly task: string;
  readonly atMs: number;
  readonly askedBy?: AskingCall;
}

/** Queues the next run of a fork whose last run has ended. */
export function openRun(record: ForkRecord, opening: RunOpening): ForkStep {
  const run = queuedRun((record.runs.at(-1)?.number ?? 0) + 1, opening);
  return { record: { ...record, runs: [...record.runs, run] }, actions: [{ type: "fill-slots" }] };
}

interface RunOpening {
  readonly task: string;
  readonly atMs: number;
  readonly requestId?: string;
  readonly openedBy?: "restart";
  readonly askedBy?: AskingCall;
}

/** A run that waits for a slot. */
export function queuedRun(number: number, opening: RunOpening): LiveRun {
  const { task, atMs, requestId, openedBy, askedBy } = opening;
  return {
    number,
    state: "queued",
    queuedAtMs: atMs,
    lastSignAtMs: atMs,
    lastWatchAtMs: atMs,
    prompts: [{ number: 1, kind: "task", text: task, ...omitUndefined({ requestId }) }],
    calls: { total: 0, streak: 0, recentIds: [] },
    rateLimits: 0,
    asks: [],
    ...omitUndefined({ openedBy, askedBy }),
  };
}
