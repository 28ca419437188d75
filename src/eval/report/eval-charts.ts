import { groupBy } from "../../text/group-by.ts";
import type { MeasureName } from "../measure-session.ts";
import { BUILT_IN_POLICIES } from "../measures/policies.ts";
import {
  type Chart,
  type ChartAxis,
  type ChartPoint,
  type ChartSeries,
  type ChartTone,
  linearTicks,
} from "./chart.ts";
import type { DriftFigures, EvalReport } from "./eval-report.ts";
import type { RecallFigures } from "./summarize-recall.ts";

/** The curves that a measure may give. */
export const CHART_NAMES: Partial<Readonly<Record<MeasureName, readonly string[]>>> = {
  recall: ["eval-recall", "eval-edit-ready"],
  drift: ["eval-drift-instructions", "eval-drift-files"],
  cost: ["eval-cost"],
};

/** The curves of a report: recall and edit-readiness against the budget, recall against cost. */
export function createEvalCharts(report: EvalReport): readonly Chart[] {
  const usable = curves(report, ({ usable: y, usableLow: low, usableHigh: high }) => ({ y, low, high }));
  const editReady = curves(report, ({ editReady: y }) => ({ y }));
  const x = budgetAxis(report);
  return [
    {
      name: "eval-recall",
      title: "What the agent needs next and still has",
      x,
      y: shareAxis("usable recall", usable),
      marks: "lines" as const,
      series: usable,
    },
    {
      name: "eval-edit-ready",
      title: "Next edits that could be made at once",
      x,
      y: shareAxis("edit-ready", editReady),
      marks: "lines" as const,
      series: editReady,
    },
    driftChart(report, "instructions", "Messages of the user that are left word for word"),
    driftChart(report, "files", "Changed files that are still named"),
    costChart(report),
  ].filter(({ series }) => series.length > 0);
}

function curves(
  { policies }: EvalReport,
  figure: (figures: RecallFigures) => { readonly y: number; readonly low?: number; readonly high?: number },
): readonly ChartSeries[] {
  return Object.entries(policies)
    .map(([name, budgets]) => ({
      name,
      tone: toneOf(name),
      points: Object.entries(budgets)
        .map(([budget, figures]) => ({ x: Number(budget), ...figure(figures) }))
        .filter(({ y }) => Number.isFinite(y))
        .sort((one, other) => one.x - other.x),
    }))
    .filter(({ points }) => points.length > 0);
}

/** `fill` and `local-summary` stand out, baselines are grey, policies of users have their own colours. */
function toneOf(name: string): ChartTone {
  if (name === "fill") return "strong";
  if (name === "local-summary") return "second";
  return BUILT_IN_POLICIES.some((policy) => policy.name === name) ? "grey" : "colour";
}

function driftChart({ drift }: EvalReport, fact: "instructions" | "files", title: string): Chart {
  const ways = groupBy(drift.points, ({ way }) => way);
  const series = [...ways]
    .map(([name, points]) => ({
      name,
      tone: DRIFT_TONES[name],
      points: points.flatMap(({ compactions: x, [fact]: y }) => (Number.isFinite(y) ? [{ x, y }] : [])),
    }))
    .filter(({ points }) => points.length > 0);
  const ticks = [1, 2, 5, 10].map((at) => ({ at, label: String(at) }));
  return {
    name: `eval-drift-${fact}`,
    title,
    x: { label: "compactions in a row", scale: "log", ticks },
    y: { label: "share", scale: "linear", ticks: linearTicks({ from: 0, to: 1, step: 0.2 }) },
    marks: "lines",
    series,
  };
}

const DRIFT_TONES: Readonly<Record<DriftFigures["way"], ChartTone>> = {
  "local-summary": "strong",
  "forgetful-model": "second",
  "last-N": "grey",
  summaries: "colour",
};

function costChart({ cost }: EvalReport): Chart {
  const series = cost
    .filter(({ usable }) => Number.isFinite(usable))
    .map(({ policy, cost: price, usable }) => ({
      name: policy,
      tone: loopToneOf(policy),
      points: [{ x: price, y: usable }],
    }));
  const prices = cost.map(({ cost: price }) => price);
  return {
    name: "eval-cost",
    title: "What holding the window costs, and what it keeps",
    x: {
      label: "cost of all requests, unmanaged = 1",
      scale: "linear",
      ticks: linearTicks(around(prices, 0.1)),
    },
    y: shareAxis("usable recall of the window", series, 0.05),
    marks: "points",
    series,
    frontier: {
      label: "nothing else here is cheaper and keeps more",
      points: frontierOf(series.flatMap(({ points }) => points)),
    },
  };
}

/** Sessions stand out, then windows that are filled by line. */
function loopToneOf(policy: string): ChartTone {
  if (/^session(-\d+k)?$/.test(policy)) return "strong";
  return policy.startsWith("fill-") ? "second" : "grey";
}

/** The Pareto frontier, by cost. */
function frontierOf(points: readonly ChartPoint[]): readonly ChartPoint[] {
  const frontier: ChartPoint[] = [];
  for (const point of points.toSorted((one, other) => one.x - other.x || other.y - one.y)) {
    const best = frontier.at(-1);
    if (best === undefined || point.y > best.y) frontier.push(point);
  }
  return frontier;
}

function budgetAxis({ policies }: EvalReport): ChartAxis {
  const budgets = Object.keys(Object.values(policies)[0] ?? {})
    .map(Number)
    .sort((one, other) => one - other);
  return {
    label: "budget in characters",
    scale: "log",
    ticks: budgets.map((at) => ({ at, label: at % 1000 === 0 ? `${at / 1000}k` : String(at) })),
  };
}

function shareAxis(label: string, series: readonly ChartSeries[], step = 0.1): ChartAxis {
  const values = series.flatMap(({ points }) => points.flatMap(({ y, low }) => [y, low ?? y]));
  const { from } = around(values.filter(Number.isFinite), step);
  return { label, scale: "linear", ticks: linearTicks({ from: Math.min(from, 0.9), to: 1, step }) };
}

function around(values: readonly number[], step: number): { from: number; to: number; step: number } {
  const [low, high] = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
  return { from: Math.floor(low / step) * step, to: Math.ceil(high / step) * step || step, step };
}
