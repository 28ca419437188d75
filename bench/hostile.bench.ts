import { ENTRY_POINTS, type EntryPoint } from "../test/hostile/entry-points.ts";
import { hostileSets } from "../test/hostile/hostile-sets.ts";
import type { HostileText } from "../test/hostile/hostile-texts.ts";
import { passesOf, slowestOf, type TimedCase, timeCase } from "../test/hostile/time-case.ts";
import { printTable } from "./measure.ts";

/**
 * Prints what the slowest hostile text takes at each entry point, by processor time and beside one plain pass over it. The
 * entry points do more than a host does: most let a text pass several times, and ask at the end what a second time would
 * change.
 */
export async function benchHostile(): Promise<void> {
  for (const [name, texts] of Object.entries(await hostileSets())) {
    const rows: string[][] = [
      [
        "entry point",
        "median ms",
        "slowest text",
        "its characters",
        "ms",
        "/ char pass",
        "over 50 ms",
        "bar",
      ],
    ];
    for (const entryPoint of ENTRY_POINTS) rows.push(await measureEntry(entryPoint, texts));
    printTable(`Hostile texts, ${name}: all that is asked of a text, in ms of processor time`, rows);
  }
}

const BAR_MS = 50;
const ROUNDS = 3;

async function measureEntry(entryPoint: EntryPoint, texts: readonly HostileText[]): Promise<string[]> {
  const cases: TimedCase[] = [];
  for (const text of texts) cases.push(await fastest(entryPoint, text));
  const sortedMs = cases.map(({ cpuMs }) => cpuMs).sort((a, b) => a - b);
  const slowest = slowestOf(cases);
  if (slowest === undefined) return [entryPoint.name];
  const { text, cpuMs } = slowest;
  return [
    entryPoint.name,
    (sortedMs[sortedMs.length >> 1] ?? 0).toFixed(1),
    text.id,
    text.text.length.toLocaleString("en-US"),
    cpuMs.toFixed(1),
    passesOf(slowest),
    String(cases.filter((one) => one.cpuMs > BAR_MS).length),
    `≤ ${BAR_MS} ms`,
  ];
}

/** The best of some rounds: the first compiles, and any round may collect garbage of others. */
async function fastest(entryPoint: EntryPoint, text: HostileText): Promise<TimedCase> {
  let { timed: best } = await timeCase(entryPoint, text);
  for (let round = 1; round < ROUNDS; round++) {
    const { timed } = await timeCase(entryPoint, text);
    if (timed.cpuMs < best.cpuMs) best = timed;
  }
  return best;
}
