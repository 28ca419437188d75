import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundleChild } from "./bundle-child.ts";
import { type KillRow, runKillRounds } from "./kill-rounds.ts";

/** Runs the kills of RELIABILITY in full (200 rounds of 4 kinds and 3 sizes), prints a table, and exits with 1 on any loss. */
export async function torture(folder: string): Promise<void> {
  const { values } = parseArgs({ options: { rounds: { type: "string", default: "200" } } });
  const child = await bundleChild(fileURLToPath(new URL("kill-child.ts", folder)));
  console.log("kind     bytes    kills  acked  lost  unreadable  torn tails  temps left  temps after start");
  try {
    const rows = await runKillRounds({ childPath: child.path, rounds: Number(values.rounds), onRow: print });
    const lost = rows.flatMap((row) => [...row.lost, ...row.unreadable]);
    const kills = rows.reduce((sum, row) => sum + row.kills, 0);
    console.log(`${kills} kills, ${lost.length} losses`);
    for (const line of lost.slice(0, 20)) console.log(line);
    if (lost.length > 0) process.exitCode = 1;
  } finally {
    child.remove();
  }
}

function print(row: KillRow): void {
  const cells = [
    row.kind.padEnd(7),
    String(row.sizeBytes).padStart(7),
    String(row.kills).padStart(6),
    String(row.acknowledged).padStart(6),
    String(row.lost.length).padStart(5),
    String(row.unreadable.length).padStart(11),
    String(row.tornTails).padStart(11),
    String(row.temporariesLeft).padStart(11),
    String(row.temporariesAfterStart).padStart(18),
  ];
  console.log(cells.join(" "));
}
