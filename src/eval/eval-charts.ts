import { type Chart, type ChartAxis, type ChartSeries, linearTicks } from "./chart.ts";
import type { EvalReport } from "./eval-report.ts";
import type { RecallFigures } from "./summarize-recall.ts";

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
      points: Object.entries(budgets)
        .map(([budget, figures]) => ({ x: Number(budget), ...figure(figures) }))
        .filter(({ y }) => Number.isFinite(y))
        .sort((one, other) => one.x - other.x),
    }))
    .filter(({ points }) => points.length > 0);
}

function costChart({ cost }: EvalReport): Chart {
  const series = cost
    .filter(({ usable }) => Number.isFinite(usable))
    .map(({ policy, cost: price, usable }) => ({ name: policy, points: [{ x: price, y: usable }] }));
  const prices = cost.map(({ cost: price }) => price);
  return {
    name: "eval-cost",
    title: "What holding the window costs, and what it keeps",
    x: {
      label: "cost of all requests, unmanaged = 1",
      scale: "linear",
      ticks: linearTicks(around(prices, 0.1)),
    },
    y: shareAxis("usable recall of the window", series),
    marks: "points",
    series,
  };
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

function shareAxis(label: string, series: readonly ChartSeries[]): ChartAxis {
  const values = series.flatMap(({ points }) => points.flatMap(({ y, low }) => [y, low ?? y]));
  const { from } = around(values.filter(Number.isFinite), 0.1);
  return { label, scale: "linear", ticks: linearTicks({ from: Math.min(from, 0.9), to: 1, step: 0.1 }) };
}

function around(values: readonly number[], step: number): { from: number; to: number; step: number } {
  const [low, high] = values.length === 0 ? [0, 1] : [Math.min(...values), Math.max(...values)];
  return { from: Math.floor(low / step) * step, to: Math.ceil(high / step) * step || step, step };
}
