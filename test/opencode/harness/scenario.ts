import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, it } from "vitest";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { findOpencode2, NO_OPENCODE2 } from "../../rig/opencode2/start-opencode2.ts";
import { LONG_ENOUGH_MS } from "../../rig/wait-for.ts";
import type { HostName, HostRig, OpenHostRig } from "./host-rig.ts";
import { leaveReport, reportFolderOf } from "./leave-report.ts";
import { createRig, type OpenRig, type Rig, type RigOptions } from "./rig.ts";
import { createRig2 } from "./rig2.ts";

/**
 * One thing that must be true with the real OpenCode. It fails when the play throws, when it takes too long, when a
 * scripted step was never asked for, or when anything reached beyond this machine; then it leaves a report.
 */
export const scenario: Scenario<OpenRig, Rig> = createScenario<OpenRig, Rig>(createRig, (name) => name);

/** One OpenCode for several scenarios of a file, each with its own sessions: starting it costs seconds. */
export const shareRig: ShareRig<OpenRig> = createShareRig(createRig);

/**
 * Plays the same scenarios in both versions of OpenCode. Where version 2 is not on this machine its part is skipped, with a
 * line that says how to get it.
 */
export function describeHosts(name: string, define: (host: HostPlay) => void): void {
  describe(name, () => define(playIn("opencode", createRig, (scenario) => scenario)));
  describe(`${name} in OpenCode 2`, () => {
    if (findOpencode2() === undefined) it.skip(`${name}: ${NO_OPENCODE2}`, () => {});
    else define(playIn("opencode2", createRig2, (scenario) => `${scenario} (OpenCode 2)`));
  });
}

/** What a file of scenarios uses in one of the hosts. */
export interface HostPlay {
  readonly name: HostName;
  readonly scenario: Scenario<OpenHostRig, HostRig>;
  readonly shareRig: ShareRig<OpenHostRig>;
}

function playIn(
  name: HostName,
  create: (options?: RigOptions) => Promise<OpenHostRig>,
  nameOf: (scenario: string) => string,
): HostPlay {
  return {
    name,
    scenario: createScenario<OpenHostRig, HostRig>(create, nameOf),
    shareRig: createShareRig(create),
  };
}

type Scenario<Open, Played> = (
  name: string,
  options: ScenarioOptions<Open>,
  play: (rig: Played) => Promise<void>,
) => void;

type ShareRig<Open> = (options?: RigOptions) => SharedRig<Open>;

function createScenario<Open extends Played & OpenHostRig, Played extends HostRig>(
  create: (options: RigOptions) => Promise<Open>,
  nameOf: (scenario: string) => string,
): Scenario<Open, Played> {
  return (plainName, options, play) => {
    const name = nameOf(plainName);
    const { proves, timeoutMs = 2 * LONG_ENOUGH_MS, leftoverSteps = "fail", shared } = options;
    it(name, { timeout: timeoutMs + START_AND_REPORT_MS }, async ({ task }) => {
      Object.assign(task.meta, { proves });
      const folder = reportFolderOf(name);
      rmSync(folder, { recursive: true, force: true });
      const rig = options.shared === undefined ? await create(options) : await options.shared.open();
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
  };
}

function createShareRig<Open extends OpenHostRig>(
  create: (options: RigOptions) => Promise<Open>,
): ShareRig<Open> {
  return (options = {}) => {
    let opening: Promise<Open> | undefined;
    afterAll(async () => {
      await (await opening?.catch(() => undefined))?.stop();
    });
    return {
      open() {
        // One that did not start is tried again by the next scenario.
        opening ??= create(options).catch((cause: unknown) => {
          opening = undefined;
          throw cause;
        });
        return opening;
      },
    };
  };
}

export interface SharedRig<Open = OpenRig> {
  open(): Promise<Open>;
}

/** A scenario has a rig of its own, made by these options, or plays in a shared one, whose options stand there. */
export type ScenarioOptions<Open = OpenRig> = ScenarioFields &
  ((RigOptions & { readonly shared?: undefined }) | { readonly shared: SharedRig<Open> });

export interface ScenarioFields {
  /** What is known once it has passed, as a sentence that stands beside the name. */
  readonly proves: string;
  /** How long the play may take; four minutes when unset. */
  readonly timeoutMs?: number;
  /** Whether scripted steps that nobody asked for are a failure; they are when unset. */
  readonly leftoverSteps?: "fail" | "allow";
}

const START_AND_REPORT_MS = 240_000;

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

/** The same rig with only the requests, events and notices that come from now on. */
function sinceNow<Played extends HostRig>(rig: Played): Played {
  const earlierRequests: ReadonlySet<ModelRequest> = new Set(rig.model.requests);
  const earlierEvents = rig.events.length;
  const earlierNotices = rig.notices().length;
  return Object.create(rig, {
    requests: {
      value: (wanted: Parameters<HostRig["requests"]>[0]) =>
        rig.requests(wanted).filter((request) => !earlierRequests.has(request)),
    },
    events: { get: () => rig.events.slice(earlierEvents) },
    notices: { value: () => rig.notices().slice(earlierNotices) },
  }) as Played;
}
