import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstDifference, PLAIN, play, type Told } from "./rig/session-play/play.ts";
import { anyScript } from "./rig/session-play/script.ts";

const SCRIPTS = 12;
const root = new URL("..", import.meta.url).pathname;

// Its state alone goes there: a journal and an archive in memory do not.
const scripts = fc
  .sample(anyScript({ journal: "none", archive: false }), { seed: 7, numRuns: SCRIPTS })
  .filter(({ steps }) => steps.some(({ isEnd }) => isEnd));

describe.skipIf(process.env.SAME_STATE === undefined)("a session that goes on in another process", () => {
  it("does there what it would have done here", { timeout: 120_000 }, async () => {
    const parts = await Promise.all(
      scripts.map(async (script) => {
        const ends = script.steps.flatMap(({ isEnd }, index) => (isEnd ? [index + 1] : []));
        const until = ends[ends.length >> 1] ?? 1;
        const { told } = await play(script, PLAIN);
        const { place } = await play(script, PLAIN, undefined, until);
        return { script, place, expected: told.slice(until) };
      }),
    );
    const input = JSON.stringify(parts.map(({ script, place }) => ({ script, place })));
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["scripts/run-ts.mjs", "test/rig/session-play/go-on.ts"],
      { cwd: root, input, encoding: "utf8", maxBuffer: 1e9 },
    );
    expect(stderr).toBe("");
    const told = JSON.parse(stdout) as readonly (readonly Told[])[];
    const differences = parts.flatMap(
      ({ expected }, index) => firstDifference(expected, told[index] ?? [], "same") ?? [],
    );
    expect(differences).toEqual([]);
  });
});
