import { mkdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { Command, InvalidArgumentError, Option } from "commander";
import {
  EVAL_DEFAULTS,
  MEASURES,
  type MeasureName,
  type SessionMeasure,
} from "../../eval/measure-session.ts";
import { BUILT_IN_POLICIES, type EvalPolicy } from "../../eval/measures/policies.ts";
import { chartSvg } from "../../eval/report/chart.ts";
import { CHART_NAMES, createEvalCharts } from "../../eval/report/eval-charts.ts";
import { controlsLine, evalPage, verdictLine } from "../../eval/report/eval-page.ts";
import { createEvalReport, type EvalReport, groupReports } from "../../eval/report/eval-report.ts";
import { createEvalTables } from "../../eval/report/eval-tables.ts";
import { plural } from "../../text/format-number.ts";
import { findTranscriptFiles } from "../files/find-files.ts";
import { createFileProgress, currentProgram } from "../files/thread-pool.ts";
import { FORCE_OPTION, type OutputFile, outputFile, writeOutputFile } from "../files/write-file.ts";
import { parseBudget, parseCount } from "../terminal/arguments.ts";
import { CliError } from "../terminal/cli-error.ts";
import { type Colors, colorsFor } from "../terminal/output.ts";
import { printJson } from "../terminal/print-json.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { renderTable } from "../terminal/table.ts";
import { fetchSuite, readSuite, type SuiteEntry, suiteFolder } from "./fetch-suite.ts";
import {
  cleanEvalCache,
  defaultEvalCacheFolder,
  type EvalOutcome,
  type EvalRun,
  type EvalSetup,
  evalCodeVersion,
  loadEvalPolicies,
  runEval,
  runEvalWorker,
} from "./run-eval.ts";

/** `carryover eval`: what policies keep of recorded sessions, what that costs, and how fast they are. */
export function evalCommand(): Command {
  return new Command("eval")
    .description("measure what context policies keep of your own sessions, without a model")
    .argument(
      "[paths...]",
      "transcript files, or folders of them, the current folder without any; any format that can be read, also packed (.gz, .zst)",
    )
    .option(
      "--policy <names>",
      "policies to measure, or modules of your own; `list` explains them",
      parseList,
    )
    .option(
      "--budget <chars>",
      "budgets in characters, such as 25k,50k",
      parseBudgets,
      EVAL_DEFAULTS.budgetsChars,
    )
    .addOption(
      new Option("--measure <names>", "what to measure")
        .argParser(parseMeasures)
        .default(MEASURES, "everything"),
    )
    .option("--probes <n>", "most places that are tried in one session", parseCount, EVAL_DEFAULTS.maxProbes)
    .option(
      "--suite <manifest>",
      "measure public sessions that a manifest names; they are fetched with your git and kept in the cache",
    )
    .option("--live", "only the branch that a session would go on with, not those it has left again")
    .option("--json", "print the report for a program to read")
    .option("--html <file>", "write the report as one page")
    .option("--svg <folder>", "write the curves as pictures")
    .option(...FORCE_OPTION)
    .option("--jobs <n>", "threads", parseCount, availableParallelism())
    .option("--cache <folder>", "where measured sessions are kept", defaultEvalCacheFolder(process.env))
    .option("--no-cache", "measure everything again and keep nothing")
    .addOption(new Option("--worker").hideHelp())
    .addHelpText("after", EXAMPLES)
    .action(runEvalCommand);
}

const EXAMPLES = `
Examples:
  carryover eval ~/.claude/projects --budget 50k
  carryover eval sessions/ --html report.html
  carryover eval sessions/ --policy last-N,hybrid-50,./mine.mjs --measure recall
  carryover eval --suite suite.json --html results.html
  carryover eval sessions/ --json | jq '.policies["hybrid-50"]["50000"].usable'

A policy of your own: mine.mjs with \`export default (transcript, budgetChars) => text\`.`;

/** The baseline, and the strongest of the simple policies. */
const BASELINES: readonly string[] = ["last-N", "hybrid-50"];

interface EvalFlags {
  readonly policy?: readonly string[];
  readonly budget: readonly number[];
  readonly measure: readonly MeasureName[];
  readonly probes: number;
  readonly suite?: string;
  readonly live?: true;
  readonly json?: true;
  readonly html?: string;
  readonly svg?: string;
  readonly force?: true;
  readonly jobs: number;
  readonly cache: string | false;
  readonly worker?: true;
}

async function runEvalCommand(paths: readonly string[], flags: EvalFlags): Promise<void> {
  if (flags.worker && !isMainThread) return runEvalWorker();
  if (flags.policy?.includes("list")) {
    process.stdout.write(`${policyList(BUILT_IN_POLICIES)}\n`);
    return;
  }
  const policyNames = flags.policy ?? BUILT_IN_POLICIES.map(({ name }) => name);
  const policies = await loadEvalPolicies(policyNames);
  const suite = flags.suite === undefined ? undefined : await suiteFiles(flags.suite, flags.cache);
  const found = suite !== undefined && paths.length === 0 ? [] : paths.length === 0 ? ["."] : paths;
  const files = [...(suite?.keys() ?? []), ...(found.length === 0 ? [] : await findTranscriptFiles(found))];
  const page = await outputFile("--html", flags.html, { inputs: files, ...flags });
  // What may not be written is said before anything is measured, not after minutes.
  for (const name of flags.measure.flatMap((measure) => CHART_NAMES[measure] ?? []))
    await outputFile("--svg", chartPath(flags.svg, name), { inputs: files, ...flags });
  const setup: EvalSetup = {
    policyNames,
    budgetsChars: flags.budget,
    measures: flags.measure,
    steps: EVAL_DEFAULTS.steps,
    maxProbes: flags.probes,
    branches: flags.live ? "live" : "file",
    ...(suite !== undefined && { secrets: "redacted" as const }),
    cacheFolder: flags.cache === false ? undefined : flags.cache,
    codeVersion: await evalCodeVersion(policyNames, currentProgram()),
  };
  if (setup.cacheFolder !== undefined) await cleanEvalCache(setup.cacheFolder, Date.now());

  const outcomes = await measureWithProgress({ files, setup, jobs: flags.jobs });
  const measures = outcomes.flatMap((outcome) => (outcome.status === "measured" ? [outcome.measure] : []));
  if (measures.length === 0) throw new CliError("None of the files is a transcript that can be read");

  const options = {
    policies: policies.map(({ name }) => name),
    budgetsChars: flags.budget,
    against: BASELINES,
  };
  const projectOf = ({ name }: SessionMeasure): string => suite?.get(name)?.repo ?? "";
  const whole = createEvalReport(measures, options);
  const report =
    suite === undefined ? whole : { ...whole, groups: groupReports(measures, { ...options, projectOf }) };
  if (page !== undefined) await writeOutputFile(page, evalPage(report, policies));
  if (flags.svg !== undefined) await writeCharts(flags.svg, report, { inputs: files, ...flags });
  if (flags.json) printJson(report);
  else process.stdout.write(`${evalText(report, { policies, colors: colorsFor(process.stdout) })}\n`);
  if (!report.controls.holds) throw new CliError(controlsLine(report));
}

/** The sessions of a suite by their files; those that cannot be had are named. */
async function suiteFiles(
  manifest: string,
  cache: EvalFlags["cache"],
): Promise<ReadonlyMap<string, SuiteEntry>> {
  const folder = suiteFolder(cache === false ? defaultEvalCacheFolder(process.env) : cache);
  const entries = await readSuite(manifest);
  const progress = createProgressLine();
  const onFetch = ({ repo }: SuiteEntry): void => progress.show(`fetching sessions from ${repo}`);
  const sessions = await fetchSuite(entries, folder, { onFetch }).finally(() => progress.end());
  const files = new Map<string, SuiteEntry>();
  const missing: string[] = [];
  for (const session of sessions) {
    if (session.status === "there") files.set(session.file, session.entry);
    else missing.push(`${session.entry.repo} ${session.entry.path}: ${session.reason}`);
  }
  for (const line of missing.slice(0, MAX_MISSING)) process.stderr.write(`not fetched ${line}\n`);
  if (missing.length > MAX_MISSING)
    process.stderr.write(`not fetched: ${missing.length - MAX_MISSING} more\n`);
  if (files.size === 0) throw new CliError("None of the sessions of the suite could be fetched");
  return files;
}

/** How many sessions that cannot be had are named. */
const MAX_MISSING = 20;

/** Measures the files, shows how many are done and, at the end, which were skipped. */
async function measureWithProgress(run: Omit<EvalRun, "onOutcome">): Promise<readonly EvalOutcome[]> {
  const { files } = run;
  const progress = createFileProgress(process.stderr, files.length);
  let fromCache = 0;
  const outcomes = await runEval({
    ...run,
    onOutcome(done, outcome) {
      if (outcome.status === "measured" && outcome.source === "cache") fromCache++;
      progress.step(done, fromCache > 0 ? `, ${fromCache} known from before` : "");
    },
  });
  progress.end();
  for (const [index, outcome] of outcomes.entries())
    if (outcome.status === "skipped") process.stderr.write(`skipped ${files[index]}: ${outcome.reason}\n`);
  return outcomes;
}

function chartPath(folder: string | undefined, name: string): string | undefined {
  return folder === undefined ? undefined : join(folder, `${name}.svg`);
}

async function writeCharts(
  folder: string,
  report: EvalReport,
  { inputs, force = false }: Pick<OutputFile, "inputs"> & { readonly force?: boolean },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const chart of createEvalCharts(report)) {
    const file = await outputFile("--svg", chartPath(folder, chart.name), { inputs, force });
    if (file !== undefined) await writeOutputFile(file, `${chartSvg(chart)}\n`);
  }
}

function parseList(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, ...value.split(",").filter((name) => name !== "")];
}

function parseMeasures(value: string): readonly MeasureName[] {
  return value.split(",").map((name) => {
    const known = MEASURES.find((measure) => measure === name);
    if (known === undefined) throw new InvalidArgumentError(`Choose from ${MEASURES.join(", ")}.`);
    return known;
  });
}

function parseBudgets(value: string): readonly number[] {
  return value.split(",").map(parseBudget);
}

/** The report for the terminal. */
function evalText(
  report: EvalReport,
  { policies, colors }: { readonly policies: readonly EvalPolicy[]; readonly colors: Colors },
): string {
  const { sessions, controls } = report;
  const formats = Object.entries(sessions.byFormat).map(([format, count]) => `${count} ${format}`);
  return [
    colors.bold(verdictLine(report)),
    `${plural(sessions.total, "session")} (${formats.join(", ")}), ${sessions.probed} of them probed: ${plural(sessions.probes, "probe")}, ${plural(sessions.targets, "target")}`,
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

/** The policies and what each keeps, one a line. */
function policyList(policies: readonly EvalPolicy[]): string {
  return renderTable(policies.map(({ name, explain }) => [name, explain]));
}
