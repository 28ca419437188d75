import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleChild, type ChildProgram } from "./bundle-child.ts";
import { runKillRounds } from "./kill-rounds.ts";

let child: ChildProgram;

beforeAll(async () => {
  child = await bundleChild(fileURLToPath(new URL("./kill-child.ts", import.meta.url)));
});

afterAll(() => child.remove());

it("loses nothing that was acknowledged before a kill, in 120 kills", async () => {
  const rows = await runKillRounds({ childPath: child.path, rounds: 10 });
  expect(rows).toHaveLength(12);
  for (const row of rows) {
    expect(row).toMatchObject({ kills: 10, lost: [], unreadable: [], temporariesAfterStart: 0 });
    expect(row.acknowledged).toBeGreaterThanOrEqual(10);
  }
});
