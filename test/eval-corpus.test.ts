import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readEvalSession } from "../src/cli/eval/run-eval.ts";
import { EVAL_DEFAULTS, measureSession } from "../src/eval/measure-session.ts";
import { BUILT_IN_POLICIES } from "../src/eval/measures/policies.ts";
import { createEvalReport } from "../src/eval/report/eval-report.ts";

const corpus = resolve(import.meta.dirname, "../../shared/eval/corpus");
const isThere = existsSync(corpus);
if (!isThere)
  console.log("eval-corpus: no ../shared/eval/corpus, the measure is not compared with the prototype");

/** usable, edit-ready, refetch of the prototype over every eighth file, at 25k, 50k, 100k and 200k characters. */
const PROTOTYPE: Readonly<Record<string, readonly (readonly [number, number, number])[]>> = {
  "last-N": [
    [0.7928, 0.7479, 1.5094],
    [0.8596, 0.8229, 0.7656],
    [0.8799, 0.8681, 0.4286],
    [0.9554, 0.9333, 0.2488],
  ],
  "uniform-1500": [
    [0.6221, 0.5062, 1.6937],
    [0.8031, 0.6104, 1.1188],
    [0.7653, 0.4806, 1.2851],
    [0.7102, 0.1722, 1.1845],
  ],
  "mask-10": [
    [0.7458, 0.6146, 1.6375],
    [0.8568, 0.7604, 0.7438],
    [0.8457, 0.7917, 0.7149],
    [0.8998, 0.8111, 0.6464],
  ],
  "prune-protect": [
    [0.7487, 0.6979, 1.5875],
    [0.8533, 0.8229, 0.8313],
    [0.8583, 0.8681, 0.5399],
    [0.9554, 0.9333, 0.2845],
  ],
  "hybrid-50": [
    [0.6734, 0.5281, 1.4219],
    [0.8405, 0.7104, 0.8719],
    [0.9313, 0.8819, 0.4554],
    [0.9885, 1, 0.1],
  ],
};
/** The prototype's documented tiers; ours differ on purpose in which ends of a text they keep. */
const PROTOTYPE_TIERS_USABLE = [0.6586, 0.7675, 0.7471, 0.6933];

const COMPARED = BUILT_IN_POLICIES.filter(({ name }) => name in PROTOTYPE || name === "fixed");

describe.skipIf(!isThere)("the measure on recorded sessions", () => {
  it("gives the prototype's figures for the baselines, within 0.01", async () => {
    const report = await evaluate(everyEighthFile());
    expect(report.controls).toEqual({ holds: true, missingInWhole: 0, mentionedInNothing: 0, overBudget: 0 });
    expect(report.sessions).toMatchObject({ total: 10, probed: 9, probes: 41, targets: 1282 });
    for (const [policy, rows] of Object.entries(PROTOTYPE)) {
      for (const [index, expected] of rows.entries()) {
        const figures = report.policies[policy]?.[String(EVAL_DEFAULTS.budgetsChars[index])];
        const ours = [figures?.usable, figures?.editReady, figures?.refetch];
        for (const [place, figure] of expected.entries())
          expect(Math.abs((ours[place] ?? Number.NaN) - figure), `${policy} ${index} ${place}`).toBeLessThan(
            0.01,
          );
      }
    }
    for (const [index, expected] of PROTOTYPE_TIERS_USABLE.entries()) {
      const usable = report.policies.fixed?.[String(EVAL_DEFAULTS.budgetsChars[index])]?.usable;
      expect(Math.abs((usable ?? Number.NaN) - expected)).toBeLessThan(0.02);
    }
  });
});

async function evaluate(files: readonly string[]) {
  const measures = [];
  for (const name of files) {
    const file = await readEvalSession(readFileSync(join(corpus, name)), { name, branches: "file" });
    if (file.status === "unreadable") throw new Error(`${name}: ${file.reason}`);
    measures.push(
      await measureSession(file.session, {
        ...EVAL_DEFAULTS,
        policies: COMPARED,
        measures: ["recall"],
        now: () => 0,
      }),
    );
  }
  return createEvalReport(measures, {
    policies: COMPARED.map(({ name }) => name),
    budgetsChars: EVAL_DEFAULTS.budgetsChars,
    against: [],
  });
}

function everyEighthFile(): readonly string[] {
  return readdirSync(corpus, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".gz"))
    .sort()
    .filter((_, index) => index % 8 === 0);
}
