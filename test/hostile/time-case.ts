import { cpuUsage } from "node:process";
import type { Entered, EntryPoint } from "./entry-points.ts";
import type { HostileText } from "./hostile-texts.ts";

/** What one text at one entry point took, everything that is asked of it there included. */
export interface TimedCase {
  readonly entryPoint: string;
  readonly text: HostileText;
  /** Milliseconds of processor time: on a machine that others use, the clock says nothing. */
  readonly cpuMs: number;
}

/** Lets a text in once; gives what came of it, and what that took. */
export async function timeCase(
  { name, enter }: EntryPoint,
  text: HostileText,
): Promise<{ readonly entered: Entered; readonly timed: TimedCase }> {
  const start = cpuUsage();
  const entered = await enter(text.text);
  return { entered, timed: { entryPoint: name, text, cpuMs: cpuMsSince(start) } };
}

/** The case that took longest. */
export function slowestOf(cases: readonly TimedCase[]): TimedCase | undefined {
  return cases.reduce<TimedCase | undefined>(
    (slowest, one) => (slowest === undefined || one.cpuMs > slowest.cpuMs ? one : slowest),
    undefined,
  );
}

/** A case in a few words. */
export function describeCase(timed: TimedCase): string {
  const { entryPoint, text, cpuMs } = timed;
  const chars = text.text.length.toLocaleString("en-US");
  return `${text.id} (${chars} characters) as ${entryPoint}, ${cpuMs.toFixed(1)} ms of processor time, beside a plain pass over it ${passesOf(timed)}`;
}

/** The time of a case as a multiple of one plain pass over its text; of a short one that says nothing. */
export function passesOf({ text, cpuMs }: TimedCase): string {
  if (text.text.length < LEAST_CHARS) return "–";
  return `${Math.round(cpuMs / passMs(text.text))}x`;
}

const LEAST_CHARS = 1_000;

/** What reading each character of a text once takes. */
function passMs(text: string): number {
  const passes = Math.ceil(PASSED_CHARS / text.length);
  let sum = 0;
  const start = cpuUsage();
  for (let pass = 0; pass < passes; pass++)
    for (let index = 0; index < text.length; index++) sum += text.charCodeAt(index);
  const passedMs = cpuMsSince(start);
  // The sum is asked for, so that no compiler leaves the loop out.
  return Number.isNaN(sum) ? Number.NaN : passedMs / passes;
}

/** Enough characters for the processor's clock to see them. */
const PASSED_CHARS = 20_000_000;

function cpuMsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = cpuUsage(start);
  return (user + system) / 1e3;
}
