import { formatNumber } from "../../text/format-number.ts";
import { groupBy } from "../../text/group-by.ts";
import type { Interval } from "./bootstrap.ts";
import type { EvalReport, PairedFigures } from "./eval-report.ts";
import { type RecallFigures, TARGET_AGES, TARGET_CLASSES } from "./summarize-recall.ts";

/** A table for a person to read. */
export interface EvalTable {
  readonly title: string;
  /** One sentence that says how to read it. */
  readonly note: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The tables of a report, in the order in which they are read; those without rows are left out. */
export function createEvalTables(report: EvalReport): readonly EvalTable[] {
  const budgets = Object.keys(Object.values(report.policies)[0] ?? {});
  return [
    ...budgets.flatMap((budget) => [
      recallTable(report, budget),
      detailTable(report, budget),
      formatTable(report, budget),
      pairedTable(report, budget),
      groupTable(report, budget),
    ]),
    compactionTable(report),
    driftTable(report),
    ledgerTable(report),
    costTable(report),
    tokenTable(report),
    promptTable(report),
    speedTable(report),
  ].filter(({ rows }) => rows.length > 0);
}

function recallTable(report: EvalReport, budget: string): EvalTable {
  const rows = atBudget(report, budget);
  const [, first] = rows[0] ?? [];
  return {
    title: `Recall at ${characters(Number(budget))}`,
    note: `${first?.probes ?? 0} probes in ${first?.sessions ?? 0} sessions whose history is longer than that.`,
    head: [
      "policy",
      "usable",
      "95 %",
      "with recall",
      "mention",
      "ctx±1",
      "edit-ready",
      "refetch",
      "refetch chars",
      "chars used",
    ],
    rows: rows.map(([policy, figures]) => [
      policy,
      share(figures.usable),
      Number.isFinite(figures.usableLow) ? `${share(figures.usableLow)}–${share(figures.usableHigh)}` : "–",
      share(figures.usableWithRecall),
      share(figures.mention),
      share(figures.context),
      share(figures.editReady),
      decimal(figures.refetch),
      whole(figures.refetchChars),
      whole(figures.usedChars),
    ]),
  };
}

function detailTable(report: EvalReport, budget: string): EvalTable {
  return {
    title: `Usable recall at ${characters(Number(budget))}, by kind and age`,
    note: "Age counts the tool results since the target was last seen.",
    head: [
      "policy",
      ...TARGET_CLASSES.map((kind) => kind.replace("-", " ")),
      "only in results",
      ...TARGET_AGES.map((age) => `age ${age}`),
    ],
    rows: atBudget(report, budget).map(([policy, { byClass, resultOnly, byAge }]) => [
      policy,
      ...TARGET_CLASSES.map((kind) => share(byClass[kind])),
      share(resultOnly),
      ...TARGET_AGES.map((age) => share(byAge[age])),
    ]),
  };
}

function formatTable(report: EvalReport, budget: string): EvalTable {
  const rows = atBudget(report, budget);
  const formats = Object.entries(rows[0]?.[1].byFormat ?? {});
  return {
    title: `By format at ${characters(Number(budget))}`,
    note: "Usable recall / edit-ready.",
    head: ["policy", ...formats.map(([format, { sessions }]) => `${format} (${sessions})`)],
    rows: rows.map(([policy, { byFormat }]) => [
      policy,
      ...formats.map(([format]) => {
        const figures = byFormat[format];
        return figures === undefined ? "–" : `${share(figures.usable)} / ${share(figures.editReady)}`;
      }),
    ]),
  };
}

function groupTable({ groups = [] }: EvalReport, budget: string): EvalTable {
  const names = Object.keys(groups[0]?.policies ?? {});
  return {
    title: `By host and project at ${characters(Number(budget))}`,
    note: "Usable recall with its 95 % interval over sessions; a project with few sessions has a wide one, or none.",
    head: ["host or project", "sessions", ...names],
    rows: groups.map(({ by, name, sessions, policies }) => [
      `${by} ${name}`,
      whole(sessions),
      ...names.map((policy) => {
        const figures = policies[policy]?.[budget];
        if (figures === undefined || figures.probes === 0) return "–";
        return withInterval(
          { mean: figures.usable, low: figures.usableLow, high: figures.usableHigh },
          share,
        );
      }),
    ]),
  };
}

function pairedTable({ paired }: EvalReport, budget: string): EvalTable {
  const atThisBudget = paired.filter(({ budgetChars }) => String(budgetChars) === budget);
  return {
    title: `Differences at ${characters(Number(budget))}`,
    note: "Over the same probes, with the 95 % interval over sessions; an interval without 0 is a real difference.",
    head: ["policy", "against", "usable", "edit-ready", "ctx±1", "refetch"],
    rows: atThisBudget
      .filter(({ differences }) => differences.usable.sessions > 0)
      .map(({ policy, against, differences }: PairedFigures) => [
        policy,
        against,
        difference(differences.usable),
        difference(differences.editReady),
        difference(differences.context),
        difference(differences.refetch),
      ]),
  };
}

function compactionTable({ compaction }: EvalReport): EvalTable {
  const ways = compaction?.ways ?? [];
  const by = groupBy(ways, ({ size }) => size);
  return {
    title: "Real compactions found in the sessions",
    note:
      compaction === undefined
        ? ""
        : `${compaction.compactions === 1 ? "1 summary" : `${compaction.compactions} summaries`} of ${whole(compaction.summaryChars)} characters on average for histories of ${whole(compaction.historyChars)}. Reads of known files a ten steps: ${decimal(compaction.rereadsAfter)} after a compaction, ${decimal(compaction.rereadsElsewhere)} elsewhere.`,
    head: ["kept by", "characters", "mention", "usable", "edit lines"],
    rows: [...by.values()]
      .flat()
      .map(({ way, size, mention, usable, editLines }) => [
        way,
        size === "same" ? "as the summary" : whole(size),
        share(mention),
        share(usable),
        share(editLines),
      ]),
  };
}

function costTable({ cost }: EvalReport): EvalTable {
  return {
    title: "Cost of holding the window",
    note: `${cost[0]?.steps ?? 0} steps of ${cost[0]?.sessions ?? 0} sessions replayed with prompt-cache prices (read 0.1, write 1.25, 5 minutes).`,
    head: ["window", "cost", "sent", "from cache", "usable", "median peak chars"],
    rows: cost.map(({ policy, cost: price, sent, cached, usable, medianPeakChars }) => [
      policy,
      share(price),
      share(sent),
      share(cached),
      share(usable),
      whole(medianPeakChars),
    ]),
  };
}

function driftTable({ drift }: EvalReport): EvalTable {
  return {
    title: "After compactions in a row",
    note: "What the window still holds: messages of the user word for word, pins, files that were changed, the newest open errors. Each compaction is one of a window as long as the session, and keeps no tail.",
    head: ["way", "compactions", "sessions", "instructions", "pins", "files", "errors"],
    rows: drift.points
      .toSorted((one, other) => one.way.localeCompare(other.way) || one.compactions - other.compactions)
      .map(({ way, compactions, sessions, instructions, pins, files, errors }) => [
        way,
        whole(compactions),
        whole(sessions),
        ...[instructions, pins, files, errors].map(share),
      ]),
  };
}

function ledgerTable({ drift: { files } }: EvalReport): EvalTable {
  return {
    title: "The ledger of files",
    note: "Files created, changed and deleted with their last state, against what the results of tools say; what only commands did is counted and not judged.",
    head: ["files", "recall", "entries judged", "precision", "by commands alone"],
    rows:
      files === undefined
        ? []
        : [
            [
              whole(files.edited),
              share(files.recall),
              whole(files.judged),
              share(files.precision),
              whole(files.untold),
            ],
          ],
  };
}

function tokenTable({ tokens }: EvalReport): EvalTable {
  return {
    title: "Token estimates against the provider's count",
    note: "Error of one step: median, what 90 of 100 steps stay within, and the bias of all steps together.",
    head: ["model", "steps", "calibrated", "within", "bias", "chars/4", "within", "bias"],
    rows: tokens
      .filter(({ steps }) => steps >= MIN_TOKEN_STEPS)
      .map(({ model, steps, calibrated, documented }) => [
        model === "" ? "not named" : model,
        whole(steps),
        ...[calibrated, documented].flatMap(({ median, p90, bias }) => [
          percent(median),
          percent(p90),
          signedPercent(bias),
        ]),
      ]),
  };
}

function promptTable({ prompts }: EvalReport): EvalTable {
  return {
    title: "Whole prompts estimated without usage",
    note: "What a request holds beyond its messages is known from the first request of its window. Left out: the host sent less than the file shows.",
    head: ["model", "requests", "left out", "median", "within", "bias"],
    rows: prompts
      .filter(({ requests }) => requests >= MIN_TOKEN_STEPS)
      .map(({ model, requests, leftOut, median, p90, bias }) => [
        model === "" ? "not named" : model,
        whole(requests),
        whole(leftOut),
        percent(median),
        percent(p90),
        signedPercent(bias),
      ]),
  };
}

/** Models with fewer steps are left out. */
const MIN_TOKEN_STEPS = 5;

function speedTable({ speed }: EvalReport): EvalTable {
  return {
    title: "Speed",
    note: "One call on the longest history of each session, as a multiple of writing it as plain text; the milliseconds are this machine's.",
    head: ["policy", "budget", "median", "p95", "median ms", "p95 ms"],
    rows: speed.map((figures) => [
      figures.policy,
      whole(figures.budgetChars),
      `${decimal(figures.medianTimesPlain)}x`,
      `${decimal(figures.p95TimesPlain)}x`,
      decimal(figures.medianMilliseconds),
      decimal(figures.p95Milliseconds),
    ]),
  };
}

function atBudget({ policies }: EvalReport, budget: string): readonly (readonly [string, RecallFigures])[] {
  return Object.entries(policies).flatMap(([policy, budgets]) => {
    const figures = budgets[budget];
    return figures === undefined || figures.probes === 0 ? [] : [[policy, figures] as const];
  });
}

function share(value: number): string {
  return Number.isFinite(value) ? value.toFixed(3) : "–";
}

function decimal(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : "–";
}

function whole(value: number): string {
  return Number.isFinite(value) ? formatNumber(Math.round(value)) : "–";
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

function signedPercent(value: number): string {
  return `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
}

function difference(figure: Interval): string {
  return withInterval(figure, signed);
}

/** A figure with its interval, where there are sessions enough for one. */
function withInterval(
  { mean, low, high }: Omit<Interval, "sessions">,
  show: (value: number) => string,
): string {
  return Number.isFinite(low) ? `${show(mean)} [${show(low)}, ${show(high)}]` : show(mean);
}

function signed(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const text = Math.abs(value).toFixed(3);
  return text === "0.000" ? text : `${value < 0 ? "−" : "+"}${text}`;
}

/** A budget in words: 50k characters. */
function characters(chars: number): string {
  return chars % 1000 === 0 ? `${chars / 1000}k characters` : `${chars} characters`;
}
