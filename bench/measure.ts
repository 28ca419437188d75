import { measure } from "mitata";

/**
 * How long a function takes as a multiple of another's time, measured in turns so that a busy machine slows both.
 * Only such ratios mean anything here.
 */
export async function ratioOf(run: () => unknown, baseline: () => unknown): Promise<number> {
  warmUp(run);
  warmUp(baseline);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const base = await measure(baseline, EFFORT);
    const own = await measure(run, EFFORT);
    ratios.push(own.p50 / base.p50);
  }
  return median(ratios);
}

const ROUNDS = 7;
/** No forced garbage collection: it discards compiled code, which the next run would pay for. */
const EFFORT = { gc: false as const, min_cpu_time: 1.5e8, min_samples: 8, warmup_samples: 1 };

/** Warms up both sides, so that steady state is measured. */
function warmUp(run: () => unknown): void {
  const until = performance.now() + 600;
  while (performance.now() < until) run();
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/** Prints rows as aligned columns under a title; the first row is the head. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  console.log(`\n${title}`);
  for (const [index, row] of rows.entries()) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${cells.join("  ")}`);
    if (index === 0) console.log(`  ${widths.map((width) => "-".repeat(width)).join("  ")}`);
  }
}
