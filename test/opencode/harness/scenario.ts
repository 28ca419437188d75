import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, it } from "vitest";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { LONG_ENOUGH_MS } from "../../rig/wait-for.ts";
import { leaveReport, reportFolderOf } from "./leave-report.ts";
import { createRig, type OpenRig, type Rig, type RigOptions } from "./rig.ts";

/**
 * One thing that must be true with the real OpenCode. It fails when the play throws, when it takes too long, when a
 * scripted step was never asked for, or when anything reached beyond this machine; then it leaves a report.
 */
export function scenario(name: string, options: ScenarioOptions, play: (rig: Rig) => Promise<void>): void {
  const { proves, timeoutMs = 2 * LONG_ENOUGH_MS, leftoverSteps = "fail", shared } = options;
  it(name, { timeout: timeoutMs + START_AND_REPORT_MS }, async ({ task }) => {
    Object.assign(task.meta, { proves });
    const folder = reportFolderOf(name);
    rmSync(folder, { recursive: true, force: true });
    const rig = options.shared === undefined ? await createRig(options) : await options.shared.open();
    const startedAt = rig.model.requests.length;
    try {
      await inTime(play(shared === undefined ? rig : sinceNow(rig)), timeoutMs);
      const leaks = rig.trap.attempts.join(", ");
      if (leaks !== "") throw new Error(`Asked for something beyond this machine: ${leaks}`);
      const waiting = rig.model.unusedSteps().filter((step) => step.times !== "always");
      if (waiting.length > 0 && leftoverSteps === "fail") {
        throw new Error(`Never asked for: ${JSON.stringify(waiting).slice(0, 1_000)}`);
      }
    } catch (cause) {
      Object.assign(task.meta, { report: folder });
      await leaveReport({ folder, rig, requests: rig.model.requests.slice(startedAt), cause });
      throw cause;
    } finally {
      rig.model.discardSteps();
      rig.trap.forget();
      if (shared === undefined) await rig.stop();
    }
  });
}

/** One OpenCode for several scenarios of a file, each with its own sessions: starting it costs seconds. */
export function shareRig(options: RigOptions = {}): SharedRig {
  let opening: Promise<OpenRig> | undefined;
  afterAll(async () => {
    await (await opening?.catch(() => undefined))?.stop();
  });
  return {
    open() {
      opening ??= createRig(options);
      return opening;
    },
  };
}

export interface SharedRig {
  open(): Promise<OpenRig>;
}

/** A scenario has a rig of its own, made by these options, or plays in a shared one, whose options stand there. */
export type ScenarioOptions = ScenarioFields &
  ((RigOptions & { readonly shared?: undefined }) | { readonly shared: SharedRig });

export interface ScenarioFields {
  /** What is known once it has passed, as a sentence that stands beside the name. */
  readonly proves: string;
  /** How long the play may take; four minutes when unset. */
  readonly timeoutMs?: number;
  /** Whether scripted steps that nobody asked for are a failure; they are when unset. */
  readonly leftoverSteps?: "fail" | "allow";
}

const START_AND_REPORT_MS = 120_000;

async function inTime(playing: Promise<void>, timeoutMs: number): Promise<void> {
  const abort = new AbortController();
  const tooLate = sleep(timeoutMs, undefined, { signal: abort.signal }).then(() => {
    throw new Error(`The scenario was not over after ${timeoutMs} ms`);
  });
  tooLate.catch(() => {}); // Aborted when the play ends in time.
  try {
    await Promise.race([playing, tooLate]);
  } finally {
    abort.abort();
  }
}

/** The same rig with only the requests and events that come from now on. */
function sinceNow(rig: OpenRig): Rig {
  const earlierRequests: ReadonlySet<ModelRequest> = new Set(rig.model.requests);
  const earlierEvents = rig.events.length;
  return Object.create(rig, {
    requests: {
      value: (wanted: Parameters<Rig["requests"]>[0]) =>
        rig.requests(wanted).filter((request) => !earlierRequests.has(request)),
    },
    events: { get: () => rig.events.slice(earlierEvents) },
  }) as Rig;
}
