import { groupBy } from "../../text/group-by.ts";
import type { MeasureName } from "../measure-session.ts";
import { BUILT_IN_POLICIES, type EvalPolicy } from "../measures/policies.ts";
import {
  type Chart,
  type ChartAxis,
  type ChartPoint,
  type ChartSeries,
  type ChartTone,
  chartSvg,
  escapeMarkup,
  linearTicks,
} from "./chart.ts";
import type { DriftFigures, EvalReport } from "./eval-report.ts";
import { createEvalTables, type EvalTable } from "./eval-tables.ts";
import type { RecallFigures } from "./summarize-recall.ts";

/** A report as one self-contained page without scripts. */
export function evalPage(
  report: EvalReport,
  policies: readonly Pick<EvalPolicy, "name" | "explain">[],
): string {
  const { sessions, controls } = report;
  const formats = Object.entries(sessions.byFormat).map(([format, count]) => `${count} ${format}`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Carryover eval</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>What survives</h1>
<p><strong>${escapeMarkup(verdictLine(report))}</strong> Presence is measured, not comprehension.</p>
<p>${sessions.total} sessions (${escapeMarkup(formats.join(", "))}); ${sessions.probed} of them were probed, at ${sessions.probes} places with ${sessions.targets} targets. A target is a path, a symbol, a literal or a line that the agent used in its next steps and could only know from before.</p>
<p class="${controls.holds ? "holds" : "broken"}">${escapeMarkup(controlsLine(report))}</p>
${createEvalCharts(report)
  .map((chart) => `<figure>${chartSvg(chart)}</figure>`)
  .join("\n")}
<h2>Policies</h2>
<dl>${policies.map(({ name, explain }) => `<dt>${escapeMarkup(name)}</dt><dd>${escapeMarkup(explain)}</dd>`).join("")}</dl>
${createEvalTables(report).map(tableMarkup).join("\n")}
</main>
</body>
</html>
`;
}

/** What to use, in a sentence: the policy that keeps most of what is needed next at the smallest budget, against the newest only. */
export function verdictLine({ policies }: EvalReport): string {
  const [budget] = Object.keys(Object.values(policies)[0] ?? {});
  if (budget === undefined) return "Nothing was measured that could be compared.";
  const ranked = Object.entries(policies)
    .map(([policy, figures]) => ({ policy, usable: figures[budget]?.usable ?? Number.NaN }))
    .filter(({ usable }) => Number.isFinite(usable))
    .sort((one, other) => other.usable - one.usable);
  const [best, second] = ranked;
  if (best === undefined)
    return "Policies were not compared: recall was not measured, or no session is long enough for it.";
  const share = (usable: number): string => usable.toFixed(2).replace(/^0/, "");
  const other = ranked.find(({ policy }) => policy === "last-N" && policy !== best.policy) ?? second;
  const than = other === undefined ? "" : `, ${other.policy} ${share(other.usable)}`;
  return `Use ${best.policy}: it keeps ${share(best.usable)} of what is needed next at ${Number(budget) / 1_000}k characters${than}.`;
}

/** The controls of the measure in a sentence. */
export function controlsLine({ controls, sessions }: EvalReport): string {
  if (sessions.probes === 0) return "Nothing was probed, so that there was nothing to control.";
  if (controls.holds)
    return "Controls hold: the whole history scores 1, an empty text 0, no policy exceeds its budget.";
  const faults = [
    `${controls.missingInWhole} targets missing in the whole history`,
    `${controls.mentionedInNothing} found in an empty text`,
    `${controls.overBudget} texts over their budget`,
  ];
  return `Controls broken: ${faults.join(", ")}.`;
}

function tableMarkup({ title, note, head, rows }: EvalTable): string {
  const cells = (tag: "td" | "th", row: readonly string[]): string =>
    `<tr>${row.map((cell) => `<${tag}>${escapeMarkup(cell)}</${tag}>`).join("")}</tr>`;
  return `<h2>${escapeMarkup(title)}</h2>
<p>${escapeMarkup(note)}</p>
<div class="wide"><table><thead>${cells("th", head)}</thead><tbody>${rows.map((row) => cells("td", row)).join("")}</tbody></table></div>`;
}

const STYLE = `:root{color-scheme:light dark;--ink:#1b1b1b;--dim:#555;--paper:#fff;--rule:#0002}
@media (prefers-color-scheme:dark){:root{--ink:#eee;--dim:#aaa;--paper:#16181c;--rule:#fff3}}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1rem}
h2{margin:2.5rem 0 .25rem;font-size:1.1rem}p,dd{color:var(--dim)}p{margin:.25rem 0 .75rem}
figure{margin:1.5rem 0}figure svg{width:100%;height:auto}
dt{font-weight:600}dd{margin:0 0 .5rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{padding:.25rem .75rem .25rem 0;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left}.broken{color:#d33;font-weight:600}`;

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

/** `fill` and `fold` stand out, baselines are grey, policies of users have their own colours. */
function toneOf(name: string): ChartTone {
  if (name === "fill") return "strong";
  if (name === "fold") return "second";
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
  fold: "strong",
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
