import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { brokenFigures, runSoak, type SoakRow } from "../test/soak/run-soak.ts";
import { OUTPUT_CAP_BYTES } from "../test/soak/soak-protocol.ts";
import { bundleChild } from "../test/stores/bundle-child.ts";

// Longer says nothing new, and a forgotten run must end.
const MAX_MINUTES = 120;

// Two processes live sessions for a while; prints what they held, and ends with 1 when a figure is broken.
const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= MAX_MINUTES)) {
  console.error(`--minutes is ${values.minutes}; give a number up to ${MAX_MINUTES}`);
  process.exit(2);
}
const child = await bundleChild(fileURLToPath(new URL("../../../test/soak/soak-child.ts", import.meta.url)));
try {
  console.log(
    `2 processes, ${minutes} minutes; drift of the last quarter against the first after the warm-up`,
  );
  const rows = await runSoak({ childPath: child.path, spanMs: minutes * 60_000 });
  for (const row of rows) print(row);
  const broken = rows.flatMap((row) =>
    brokenFigures(row, "judged").map((figure) => `${row.label}: ${figure}`),
  );
  for (const figure of broken.slice(0, 20)) console.log(figure);
  console.log(broken.length === 0 ? "all figures hold" : `${broken.length} figures do not hold`);
  if (broken.length > 0) process.exitCode = 1;
} finally {
  child.remove();
}

function print(row: SoakRow): void {
  const counts = Object.entries(row.counts ?? {}).map(([name, count]) => `${count} ${name}`);
  const memory = ([first, last]: readonly [number, number], drift: number): string =>
    `${first.toFixed(1)} → ${last.toFixed(1)} MiB (${drift.toFixed(1)} %)`;
  console.log(`${row.label}  ${counts.join(", ")}`);
  console.log(
    `   heap ${memory(row.heapMiB, row.heapDrift)}, resident ${memory(row.residentMiB, row.residentDrift)}`,
  );
  console.log(
    `   descriptors ${row.descriptorDrift >= 0 ? "+" : ""}${row.descriptorDrift}, outputs at most ${row.maxOutputBytes} of ${OUTPUT_CAP_BYTES} bytes, ${row.faults.length} faults`,
  );
}
