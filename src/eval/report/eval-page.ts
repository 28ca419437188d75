import type { EvalPolicy } from "../measures/policies.ts";
import { chartSvg, escapeMarkup } from "./chart.ts";
import { createEvalCharts } from "./eval-charts.ts";
import type { EvalReport } from "./eval-report.ts";
import { createEvalTables, type EvalTable } from "./eval-tables.ts";

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
