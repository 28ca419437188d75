import { controlsLine } from "../../eval/eval-page.ts";
import type { EvalPolicy } from "../../eval/eval-policy.ts";
import type { EvalReport } from "../../eval/eval-report.ts";
import { createEvalTables } from "../../eval/eval-tables.ts";
import type { Colors } from "./colors.ts";
import { renderTable } from "./render-table.ts";

export interface EvalTextOptions {
  readonly policies: readonly EvalPolicy[];
  readonly colors: Colors;
}

/** A report for a terminal. */
export function evalText(report: EvalReport, { policies, colors }: EvalTextOptions): string {
  const { sessions, controls } = report;
  const formats = Object.entries(sessions.byFormat).map(([format, count]) => `${count} ${format}`);
  return [
    `${sessions.total} sessions (${formats.join(", ")}), ${sessions.probed} long enough to be probed: ${sessions.probes} probes, ${sessions.targets} targets`,
    controls.holds ? controlsLine(report) : colors.red(controlsLine(report)),
    "",
    colors.bold("Policies"),
    policyList(policies),
    ...createEvalTables(report).flatMap(({ title, note, head, rows }) => [
      "",
      colors.bold(title),
      colors.dim(note),
      renderTable([head, ...rows]),
    ]),
  ].join("\n");
}

/** What each policy keeps, one a line. */
export function policyList(policies: readonly EvalPolicy[]): string {
  return renderTable(policies.map(({ name, explain }) => [name, explain]));
}
