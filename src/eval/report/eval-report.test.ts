import { describe, expect, it } from "vitest";
import { workingSession } from "../../../test/rig/eval-session.ts";
import { EVAL_DEFAULTS, MEASURES, measureSession } from "../measure-session.ts";
import { BUILT_IN_POLICIES, type EvalPolicy } from "../measures/policies.ts";
import { chartSvg, linearTicks } from "./chart.ts";
import { createEvalCharts } from "./eval-charts.ts";
import { evalPage, verdictLine } from "./eval-page.ts";
import { createEvalReport } from "./eval-report.ts";
import { createEvalTables } from "./eval-tables.ts";

const budgetsChars = [25_000, 50_000];

async function reportOf(policies: readonly EvalPolicy[], sessions = 4) {
  let clockMs = 0;
  const measures = await Promise.all(
    Array.from({ length: sessions }, (_, index) =>
      measureSession(
        {
          name: `session ${index}`,
          format: index === 0 ? "pi" : "opencode",
          transcript: workingSession({ steps: 60 + 5 * index, editsBackSteps: 3 + 6 * index }),
        },
        { ...EVAL_DEFAULTS, budgetsChars, policies, measures: MEASURES, now: () => clockMs++ },
      ),
    ),
  );
  const names = policies.map(({ name }) => name);
  return createEvalReport(measures, { policies: names, budgetsChars, against: ["last-N", "absent"] });
}

const report = await reportOf(BUILT_IN_POLICIES);

describe("a report", () => {
  it("counts sessions, probes and targets, and holds its controls", () => {
    expect(report.sessions).toMatchObject({ total: 4, probed: 4, byFormat: { pi: 1, opencode: 3 } });
    expect(report.controls).toEqual({ holds: true, missingInWhole: 0, mentionedInNothing: 0, overBudget: 0 });
  });

  it("has figures for every policy at every budget", () => {
    expect(Object.keys(report.policies)).toEqual(BUILT_IN_POLICIES.map(({ name }) => name));
    for (const budgets of Object.values(report.policies)) {
      expect(Object.keys(budgets)).toEqual(["25000", "50000"]);
      for (const figures of Object.values(budgets)) {
        expect(figures.usable).toBeGreaterThanOrEqual(figures.usableLow);
        expect(figures.usable).toBeLessThanOrEqual(figures.usableHigh);
        expect(figures.usable).toBeLessThanOrEqual(figures.mention);
        expect(figures.context).toBeLessThanOrEqual(figures.usable);
        expect(figures.sessions).toBe(4);
      }
    }
  });

  it("averages probes within a session first, so that a long session counts once", () => {
    const figures = report.policies["last-N"]?.["25000"];
    const formats = Object.values(figures?.byFormat ?? {});
    const mean = formats.reduce((sum, { usable, sessions }) => sum + usable * sessions, 0) / 4;
    expect(figures?.usable).toBeCloseTo(mean, 12);
  });

  it("says how far policies are ahead of one that was measured, and nothing about one that was not", () => {
    expect(new Set(report.paired.map(({ against }) => against))).toEqual(new Set(["last-N"]));
    const hybrid = report.paired.find(
      ({ policy, budgetChars }) => policy === "hybrid-50" && budgetChars === 25_000,
    );
    const [ours, theirs] = ["hybrid-50", "last-N"].map(
      (name) => report.policies[name]?.["25000"]?.usable ?? 0,
    );
    expect(hybrid?.differences.usable.mean).toBeCloseTo((ours ?? 0) - (theirs ?? 0), 12);
  });

  it("notices a policy that exceeds its budget", async () => {
    const greedy: EvalPolicy = {
      name: "greedy",
      explain: "everything",
      run: (_, budgetChars) => "x".repeat(budgetChars + 1),
    };
    const { controls, policies } = await reportOf([greedy], 1);
    expect(controls.holds).toBe(false);
    expect(controls.overBudget).toBe(
      policies.greedy?.["25000"]?.probes === undefined ? 0 : controls.overBudget,
    );
    expect(controls.overBudget).toBeGreaterThan(0);
  });

  it("is data that JSON can carry", () => {
    expect(JSON.parse(JSON.stringify(report)).policies["last-N"]["50000"].usable).toBe(
      report.policies["last-N"]?.["50000"]?.usable,
    );
  });
});

describe("the verdict of a report", () => {
  it("names the policy that keeps most at the smallest budget, and the newest only beside it", () => {
    const figures = (usable: number) => ({ "25000": { usable }, "50000": { usable: 1 - usable } });
    const policies = { "last-N": figures(0.71), fill: figures(0.84), tiers: figures(0.8) };
    expect(verdictLine({ ...report, policies } as unknown as typeof report)).toBe(
      "Use fill: it keeps .84 of what is needed next at 25k characters, last-N .71.",
    );
    expect(verdictLine({ ...report, policies: {} })).toBe("Nothing was measured that could be compared.");
  });
});

describe("the tables of a report", () => {
  it("have as many cells in each row as in the head, and none that says NaN", () => {
    const tables = createEvalTables(report);
    expect(tables.map(({ title }) => title)).toContain("Recall at 25k characters");
    for (const { head, rows } of tables) {
      for (const row of rows) expect(row).toHaveLength(head.length);
      expect(rows.flat().join(" ")).not.toMatch(/NaN|undefined|Infinity/);
    }
  });

  it("are none for no sessions", () => {
    expect(
      createEvalTables(createEvalReport([], { policies: ["last-N"], budgetsChars, against: [] })),
    ).toEqual([]);
  });
});

describe("the page of a report", () => {
  const page = evalPage(report, [{ name: "<b>", explain: 'a "quoted" & odd name' }]);

  it("needs no script and nothing from elsewhere", () => {
    expect(page).not.toMatch(/<script|\ssrc=|\shref=|url\(|@import/);
    expect(page).toContain("prefers-color-scheme:dark");
    expect(page.match(/<svg /g)).toHaveLength(4);
  });

  it("shows names as text, whatever they hold", () => {
    expect(page).toContain("<dt>&#60;b&#62;</dt><dd>a &#34;quoted&#34; &#38; odd name</dd>");
  });

  it("draws every point inside the picture", () => {
    for (const chart of createEvalCharts(report)) {
      const places = [...chartSvg(chart).matchAll(/c[xy]="([^"]+)"/g)].map(([, place]) => Number(place));
      expect(places.length).toBeGreaterThan(0);
      for (const place of places) expect(place).toBeGreaterThan(0);
      expect(Math.max(...places)).toBeLessThan(720);
    }
  });
});

describe("the picture of cost against recall", () => {
  const { cost, ...rest } = report;
  const figures = (policy: string, price: number, usable: number) => ({
    ...(cost[0] as (typeof cost)[number]),
    policy,
    cost: price,
    usable,
  });
  const chart = createEvalCharts({
    ...rest,
    cost: [
      figures("append-only", 1, 1),
      figures("session", 0.5, 0.96),
      figures("mask-10", 1.04, 0.88),
      figures("fill-60k-25k", 0.4, 0.9),
      figures("tiers-batched", 0.5, 0.91),
    ],
  }).find(({ name }) => name === "eval-cost");

  it("joins what nothing else beats", () => {
    expect(chart?.frontier?.points).toEqual([
      { x: 0.4, y: 0.9 },
      { x: 0.5, y: 0.96 },
      { x: 1, y: 1 },
    ]);
  });

  it("has our own in colour and the baselines in grey", () => {
    expect(chart?.series.map(({ name, tone }) => `${name} ${tone}`)).toEqual([
      "append-only grey",
      "session strong",
      "mask-10 grey",
      "fill-60k-25k second",
      "tiers-batched grey",
    ]);
  });
});

describe("linearTicks", () => {
  it("marks both ends with as many digits as the step has", () => {
    expect(linearTicks({ from: 0.5, to: 1, step: 0.25 }).map(({ label }) => label)).toEqual([
      "0.50",
      "0.75",
      "1.00",
    ]);
    expect(linearTicks({ from: 0.8, to: 1, step: 0.1 }).map(({ label }) => label)).toEqual([
      "0.8",
      "0.9",
      "1.0",
    ]);
  });
});
