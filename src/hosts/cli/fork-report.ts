import type { ProcessingStats } from "../../fork/processing-stats.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { Colors } from "./colors.ts";
import { renderTable } from "./render-table.ts";
import { shownNumber } from "./shown-text.ts";

export interface ForkReportInput {
  readonly stats: ProcessingStats;
  readonly edits: readonly Edit[];
  readonly preamble: string;
  readonly title: string;
  readonly colors: Colors;
}

/** What was inherited, what was cut and why, and the preamble, for a person to read. */
export function forkReport({ stats, edits, preamble, title, colors }: ForkReportInput): string {
  const budgetChars = stats.applied?.budgetChars ?? 0;
  const share = budgetChars === 0 ? 0 : Math.round((100 * stats.totalChars) / budgetChars);
  const { tier1, tier2, tier3 } = stats.tierDistribution;
  return [
    colors.bold(title),
    "",
    colors.bold("Inherited"),
    renderTable([
      ["messages", shownNumber(stats.finalCount), `of ${shownNumber(stats.originalCount)}`],
      [
        "characters",
        shownNumber(stats.totalChars),
        `${share} % of the budget of ${shownNumber(budgetChars)}`,
      ],
      [
        "tool results",
        shownNumber(tier1 + tier2 + tier3),
        `${tier1} newest, ${tier2} in the middle, ${tier3} old`,
      ],
      ...(stats.clearedResults
        ? [["cleared results", shownNumber(stats.clearedResults), "placeholders: the host had pruned them"]]
        : []),
      ...(stats.compactionDetected
        ? [["summary", "1", "of the compaction, with what the host kept word for word"]]
        : []),
    ]),
    "",
    colors.bold("Cut, and why"),
    renderTable(cutRows(edits), { empty: "  nothing" }),
    "",
    colors.bold("Preamble"),
    ...preamble.split("\n").map((line) => `  ${line}`),
  ].join("\n");
}

function cutRows(edits: readonly Edit[]): readonly (readonly string[])[] {
  const rows = new Map<string, { count: number; chars: number }>();
  for (const edit of edits) {
    const row = rows.get(edit.reason) ?? { count: 0, chars: 0 };
    row.count++;
    row.chars += edit.omitted?.chars ?? 0;
    rows.set(edit.reason, row);
  }
  rows.delete("retained-tail");
  const order = Object.keys(EXPLANATIONS);
  return [...rows]
    .sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
    .map(([reason, { count, chars }]) => {
      const [what, why] = EXPLANATIONS[reason] ?? [reason, ""];
      return [what, shownNumber(count), `${shownNumber(chars)} chars`, why];
    });
}

/** What each reason of an edit means to a reader. */
const EXPLANATIONS: Readonly<Record<string, readonly [what: string, why: string]>> = {
  "before-compaction": ["messages", "the compaction summary stands for them"],
  reasoning: ["reasoning parts", "thoughts of the parent are not inherited"],
  ignored: ["notes to the user", "the model never saw them"],
  "own-hint": ["own hints", "meant for the parent only"],
  "in-flight": ["unfinished launches", "the child itself is one of them"],
  secret: ["parts with secrets", "placeholders stand for them"],
  "nested-preamble": ["preambles", "of a context that the parent had inherited"],
  "tier-2": ["middle results", "past their limit: the beginning stays, or both ends"],
  "tier-3": ["old results", "past their limit: the beginning stays, or both ends"],
  params: ["tool inputs", "shortened by age; their results are whole"],
  superseded: ["replaced results", "something newer shows the same; a line says what"],
  "selected-lines": ["texts", "only the lines most likely needed stay"],
  restored: ["cleared outputs", "brought back on request"],
  "over-budget": ["messages", "the oldest left, to keep the budget"],
  oversize: ["long texts", "shortened: the budget is hard"],
};
