import { advanceFork } from "../../../src/fork/life/advance.ts";
import { createForkRecord, type NewFork } from "../../../src/fork/life/create-fork-record.ts";
import type { ForkEvent, ForkStep } from "../../../src/fork/life/events.ts";
import { FORK_LIMIT_SHAPE, type ForkLimits, forkLimits } from "../../../src/fork/life/limits.ts";
import {
  currentRun,
  type EndedRun,
  type ForkOwner,
  type ForkRecord,
  isLive,
} from "../../../src/fork/life/record.ts";
import { defaultsOf } from "../../../src/text/check.ts";
import { deepFreeze } from "../notation.ts";
import type { Happening } from "./fork-world.ts";

/** When everything happens that names no time. */
export const AT_MS = 1_000_000;

/** Who owns the sample forks. */
export const OWNER: ForkOwner = {
  instanceId: "i1",
  process: { host: "h", pid: 7, start: "boot/7" },
  heartbeatAtMs: AT_MS,
};

/** A fork that waits for a slot. */
export function sampleFork(change: Partial<NewFork> = {}): ForkRecord {
  return createForkRecord({
    id: "f1",
    number: 1,
    rootSessionId: "root",
    parentSessionId: "parent",
    agent: "build",
    model: { providerId: "p", modelId: "m" },
    title: "find the bug",
    inherited: { mode: "full", reason: "the cache is warm", chars: 10, messages: 1 },
    owner: OWNER,
    task: "find the bug",
    atMs: AT_MS,
    ...change,
  });
}

/** An event that may name its time. */
export type SampleEvent = Happening & { readonly atMs?: number };

/** One step of a frozen record. */
export function step(record: ForkRecord, event: SampleEvent, change: Partial<ForkLimits> = {}): ForkStep {
  return advanceFork(deepFreeze(record), { atMs: AT_MS, ...event } as ForkEvent, {
    ...forkLimits(defaultsOf(FORK_LIMIT_SHAPE)),
    ...change,
  });
}

/** The record after some events. */
export function afterEvents(record: ForkRecord, ...events: readonly SampleEvent[]): ForkRecord {
  return events.reduce((now, event) => step(now, event).record, record);
}

/** The record after somebody has looked at it all the time until then. */
export function watchedUntil(record: ForkRecord, untilMs: number): ForkRecord {
  let now = record;
  for (let atMs = AT_MS; atMs < untilMs; atMs += 30_000) now = step(now, { type: "tick", atMs }).record;
  return step(now, { type: "tick", atMs: untilMs }).record;
}

/** A fork whose child has its task. */
export function runningFork(change: Partial<NewFork> = {}): ForkRecord {
  return afterEvents(
    sampleFork(change),
    { type: "slot-given" },
    { type: "child-created", run: 1, childSessionId: "child" },
    { type: "prompt-accepted", run: 1, prompt: 1, messageId: "m1" },
  );
}

/** A fork that reported. */
export function completedFork(change: Partial<NewFork> = {}, text = "The bug is in a.ts:1."): ForkRecord {
  const finding = { type: "finished", text, lastText: text, changedFiles: [] } as const;
  return afterEvents(runningFork(change), { type: "child-checked", run: 1, finding });
}

/** The newest run of a fork that must be over. */
export function endedRun(record: ForkRecord): EndedRun {
  const run = currentRun(record);
  if (isLive(run)) throw new Error(`Run ${run.number} is ${run.state}`);
  return run;
}
