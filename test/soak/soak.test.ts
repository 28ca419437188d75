import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleChild, type ChildProgram } from "../stores/bundle-child.ts";
import { brokenFigures, runSoak } from "./run-soak.ts";

let child: ChildProgram;

beforeAll(async () => {
  child = await bundleChild(join(import.meta.dirname, "soak-child.ts"));
});

afterAll(() => child.remove());

it("two processes live sessions in one folder for twenty seconds: every request is valid, no descriptor stays open, saved outputs keep their cap", async () => {
  const rows = await runSoak({ childPath: child.path, spanMs: 20_000 });
  expect(rows.flatMap((row) => brokenFigures(row, "not-judged"))).toEqual([]);
  for (const { counts } of rows) expect(counts?.requests).toBeGreaterThan(20);
});
