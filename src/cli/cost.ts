import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { Command } from "commander";
import { folderBeside } from "../agents/places.ts";
import { cacheMissLine, causesByCost, costRows, mostExpensive, priceSources } from "../cost/describe-cost.ts";
import {
  CAUSE_NAMES,
  type CacheMiss,
  describeMiss,
  explainCost,
  type SessionCost,
} from "../cost/explain-cost.ts";
import { readRequests } from "../cost/read-requests.ts";
import type { ExplainedRequest } from "../cost/recorded-request.ts";
import { replayCost } from "../eval/measures/measure-cost.ts";
import type { ModelRow } from "../models/model-row.ts";
import { errorMessage } from "../text/failure.ts";
import { formatNumber, formatUSD } from "../text/format-number.ts";
import { findTranscriptFiles, isFolder } from "./files/find-files.ts";
import { type InputFile, readInput, sessionLabel } from "./files/read-input.ts";
import { type ModelsFlag, modelsOf, withModelsOption } from "./files/read-models.ts";
import { createFileProgress, measureFiles, serveThread } from "./files/thread-pool.ts";
import { sortDescending, sumOf } from "./inspect/profile-session.ts";
import { noSession } from "./sessions/find-newest-session.ts";
import { openNamedSession, SESSION_ARGUMENT, sessionPath } from "./sessions/open-session.ts";
import { type FolderFlags, withFolderOptions } from "./terminal/arguments.ts";
import { CliError, interrupted, withInterrupt } from "./terminal/cli-error.ts";
import { type Colors, colorsFor, formatCount, formatPercent, terminalPath } from "./terminal/output.ts";
import { printJson } from "./terminal/print-json.ts";
import { renderSection } from "./terminal/table.ts";
import { wrapped } from "./terminal/wrap.ts";

/** `carryover cost`: what a session or a folder of them cost, and why the provider's cache was missed. */
export function costCommand(): Command {
  return withModelsOption(withFolderOptions(new Command("cost")))
    .description(
      "say what a session cost, how much of that was for cache misses, and why the provider's cache was missed",
    )
    .argument("[session]", `${SESSION_ARGUMENT}, or a folder of sessions; the newest session without it`)
    .addHelpText("after", EXAMPLES)
    .action(runCost);
}

const EXAMPLES = `
Examples:
  carryover cost
  carryover cost ~/.claude/projects/my-project/0240bd7a.jsonl
  carryover cost ~/.claude/projects --top 10
  carryover cost session.jsonl --models models.json
  carryover cost --json | jq '.misses[] | {cause, costUSD}'

A row of models.json, in dollars for a million tokens: { "names": ["my-model"], "prices": [{ "input": 1,
"output": 5, "cacheRead": 0.1, "cacheWrite": { "5m": 1.25 } }], "source": "my contract" }. docs/concepts/models.md has
all cells. Nothing is written.`;

type CostFlags = FolderFlags & ModelsFlag;

async function runCost(named: string | undefined, flags: CostFlags): Promise<void> {
  const models = await modelsOf(flags);
  if (flags.worker && !isMainThread) return serveThread((path) => fileCost(path, models));
  const path = named === undefined ? undefined : await sessionPath(named);
  if (path !== undefined && path !== "-" && isFolder(path)) return printFolder(path, { flags, models });
  const { file, found, isExample } = await openNamedSession(path, { keep: "window" });
  if (isExample) throw noSession();
  const cost = explainCost(readRequests(file), { models });
  const subAgents = await subAgentCosts(file.name, models);
  if (cost.totals.requests === 0)
    throw new CliError(`${file.name} does not record what its requests used`, [
      "Claude Code, Codex, OpenCode, pi and Gemini CLI record it.",
    ]);
  const pruning = await pruningShare(file);
  if (flags.json) {
    const { name, format, sessionId, title } = file;
    printJson({ file: name, format, sessionId, title, ...cost, subAgents, pruning });
    return;
  }
  const colors = colorsFor(process.stdout);
  const report = sessionReport({ cost, subAgents, pruning, models, top: flags.top, colors });
  const head = [
    ...(found === undefined ? [] : [colors.dim(found)]),
    colors.bold(sessionLabel(file, file.name)),
  ];
  process.stdout.write(`${wrapped([...head, ...report].join("\n"), process.stdout)}\n`);
}

/** What one file cost; its requests are those of a session, or of a sub-agent. */
type FileCost =
  | { readonly status: "read"; readonly path: string; readonly cost: SessionCost }
  | { readonly status: "skipped"; readonly path: string; readonly reason: string };

async function fileCost(path: string, models: readonly ModelRow[] | undefined): Promise<FileCost> {
  try {
    return {
      status: "read",
      path,
      cost: explainCost(readRequests(await readInput(path, "window")), { models }),
    };
  } catch (error) {
    return { status: "skipped", path, reason: errorMessage(error) };
  }
}

/** Claude Code keeps the sessions of sub-agents in a folder beside the session. */
async function subAgentCosts(path: string, models: readonly ModelRow[] | undefined) {
  const folder = join(folderBeside(path), "subagents");
  const names = await readdir(folder).catch(() => []);
  const costs = await Promise.all(
    names.filter((name) => name.endsWith(".jsonl")).map((name) => fileCost(join(folder, name), models)),
  );
  return costs.flatMap((each) =>
    each.status === "read" ? [{ path: each.path, totals: each.cost.totals }] : [],
  );
}

/**
 * What our pruning would have cost on the same steps, as a share of sending everything: by a replay of the recorded
 * texts, so only of a session that was never compacted, which sent everything itself.
 */
async function pruningShare({ transcript }: InputFile) {
  if (transcript.some(({ parts }) => parts.some(({ type }) => type === "compaction"))) return undefined;
  const [whole, pruned] = await replayCost({ transcript }, ["append-only", "session"]);
  if (whole === undefined || pruned === undefined) return undefined;
  return { steps: whole.steps, shareOfCost: pruned.costChars / whole.costChars };
}

interface SessionReport {
  readonly cost: SessionCost;
  readonly subAgents: Awaited<ReturnType<typeof subAgentCosts>>;
  readonly pruning: Awaited<ReturnType<typeof pruningShare>>;
  readonly models: readonly ModelRow[] | undefined;
  readonly top: number;
  readonly colors: Colors;
}

function sessionReport({ cost, subAgents, pruning, models, top, colors }: SessionReport): readonly string[] {
  const { totals, misses, cacheMissCost, requests } = cost;
  const names = [...new Set(requests.flatMap(({ model }) => model?.id ?? []))];
  const agentsUSD = sumOf(subAgents, ({ totals }) => totals.costUSD);
  return [
    `${colors.bold(formatUSD(totals.costUSD))} for ${formatCount(totals.requests, "request")} of ${names.join(", ") || "a model without a name"}${unpricedNote(totals.unpriced)}`,
    ...(subAgents.length === 0
      ? []
      : [
          `${formatUSD(agentsUSD)} more for ${formatCount(subAgents.length, "sub-agent")} in files of their own`,
        ]),
    cacheMissLine(cost),
    ...renderSection(colors.bold("What was paid"), [
      ...costRows(cost).map(([name, costUSD, text]) => [name, formatUSD(costUSD), text]),
    ]),
    ...missSection(misses, { top, colors, whereOf: ({ request }) => requestPlace(requests[request]) }),
    ...causeSection(misses, { cacheMissUSD: cacheMissCost.costUSD, colors }),
    ...(pruning === undefined
      ? []
      : [
          "",
          `Carryover's pruning on the same ${formatNumber(pruning.steps)} steps: ${pruning.shareOfCost.toFixed(2)} of what sending everything costs (a replay of the recorded texts at Anthropic's cache prices).`,
        ]),
    ...sourceLines(priceSources(cost, models)),
  ];
}

function unpricedNote(unpriced: number): string {
  return unpriced === 0
    ? ""
    : `; ${formatCount(unpriced, "request")} without a known price not counted (--models)`;
}

function requestPlace(request: ExplainedRequest | undefined): string {
  if (request === undefined) return "";
  const time = request.atMs === undefined ? "" : new Date(request.atMs).toISOString();
  return `#${request.index + 1} ${time.slice(5, 16).replace("T", " ")}`.trimEnd();
}

interface MissSection<Miss extends CacheMiss> {
  readonly top: number;
  readonly colors: Colors;
  readonly whereOf: (found: Miss) => string;
}

function missSection<Miss extends CacheMiss>(
  misses: readonly Miss[],
  { top, colors, whereOf }: MissSection<Miss>,
): readonly string[] {
  return renderSection(
    colors.bold("Most expensive cache misses"),
    (mostExpensive(misses, top) as readonly Miss[]).map((each) => [
      each.costUSD === undefined ? "" : formatUSD(each.costUSD),
      `${formatNumber(each.missedTokens)} tokens`,
      whereOf(each),
      describeMiss(each),
    ]),
  );
}

function causeSection(
  misses: readonly CacheMiss[],
  { cacheMissUSD, colors }: { readonly cacheMissUSD: number; readonly colors: Colors },
): readonly string[] {
  if (misses.length < 2) return [];
  return renderSection(
    colors.bold("By cause"),
    causesByCost(misses).map(({ cause, misses, tokens, costUSD }) => [
      CAUSE_NAMES[cause],
      formatCount(misses, "cache miss"),
      `${formatNumber(tokens)} tokens`,
      formatUSD(costUSD),
      formatPercent(costUSD, cacheMissUSD),
    ]),
  );
}

function sourceLines(sources: readonly string[]): readonly string[] {
  return sources.length === 0
    ? []
    : ["", `Prices: ${sources.join("; ")}; a subscription pays otherwise. Others with --models.`];
}

async function printFolder(
  folder: string,
  { flags, models }: { readonly flags: CostFlags; readonly models: readonly ModelRow[] | undefined },
): Promise<void> {
  const files = await findTranscriptFiles([folder]);
  const progress = createFileProgress(process.stderr, files.length);
  const { outcomes, isStopped } = await withInterrupt(async (signal) => {
    const measured = await measureFiles({
      files,
      threads: flags.jobs,
      createMeasure: () => (path: string) => fileCost(path, models),
      argv: ["cost", "--worker", ...(flags.models === undefined ? [] : ["--models", flags.models])],
      onOutcome: (done) => progress.step(done),
      signal,
    }).finally(() => progress.end());
    return { outcomes: measured.filter((outcome) => outcome !== undefined), isStopped: signal.aborted };
  });
  const sum = folderCost(outcomes);
  if (flags.json) printJson(sum);
  else
    process.stdout.write(
      `${folderReport(sum, { folder, top: flags.top, colors: colorsFor(process.stdout) })}\n`,
    );
  if (isStopped) throw interrupted(`Stopped after ${outcomes.length} of ${files.length} files`);
}

/** The sum of a folder. A session that was resumed or forked repeats requests of another file, which were paid once. */
function folderCost(outcomes: readonly FileCost[]) {
  const paid = new Set<string>();
  const sessions = outcomes.flatMap((outcome) => {
    if (outcome.status === "skipped") return [];
    const { path, cost } = outcome;
    const isNew = cost.requests.map(({ id, atMs, usage }) => {
      const key = `${id} ${atMs} ${usage.cacheReadTokens} ${usage.outputTokens}`;
      const known = paid.has(key);
      paid.add(key);
      return !known;
    });
    const requests = cost.requests.filter((_, index) => isNew[index]);
    const misses = cost.misses
      .filter(({ request }) => isNew[request])
      .map((each) => ({ ...each, file: path }));
    if (requests.length === 0) return [];
    return [
      {
        file: path,
        requests: requests.length,
        repeatedRequests: cost.requests.length - requests.length,
        costUSD: sumOf(requests, ({ costUSD = 0 }) => costUSD),
        unpriced: requests.filter(({ priced }) => priced === "unknown").length,
        cacheMissCost: {
          tokens: sumOf(misses, ({ missedTokens }) => missedTokens),
          costUSD: sumOf(misses, ({ costUSD = 0 }) => costUSD),
        },
        misses,
      },
    ];
  });
  return {
    files: { total: outcomes.length, withRequests: sessions.length },
    totals: {
      requests: sumOf(sessions, ({ requests }) => requests),
      costUSD: sumOf(sessions, ({ costUSD }) => costUSD),
      unpriced: sumOf(sessions, ({ unpriced }) => unpriced),
      cacheMissCost: {
        tokens: sumOf(sessions, ({ cacheMissCost }) => cacheMissCost.tokens),
        costUSD: sumOf(sessions, ({ cacheMissCost }) => cacheMissCost.costUSD),
      },
    },
    byCause: causesByCost(sessions.flatMap(({ misses }) => misses)),
    sessions: sortDescending(sessions, ({ costUSD }) => costUSD),
    skipped: outcomes.flatMap((each) =>
      each.status === "skipped" ? [{ file: each.path, reason: each.reason }] : [],
    ),
  };
}

function folderReport(
  { files, totals, sessions, skipped }: ReturnType<typeof folderCost>,
  { folder, top, colors }: { readonly folder: string; readonly top: number; readonly colors: Colors },
): string {
  const root = folder.replace(/\/+$/, "");
  const path = (file: string): string =>
    terminalPath(file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file, MAX_PATH_CHARS);
  const misses = sessions.flatMap(({ misses }) => misses);
  const { cacheMissCost } = totals;
  return [
    `${colors.bold(formatUSD(totals.costUSD))} for ${formatCount(totals.requests, "request")} in ${formatCount(files.withRequests, "session")}${unpricedNote(totals.unpriced)}`,
    `${formatUSD(cacheMissCost.costUSD)} of it (${formatPercent(cacheMissCost.costUSD, totals.costUSD)}) for ${formatNumber(cacheMissCost.tokens)} tokens that the cache could have given`,
    ...causeSection(misses, { cacheMissUSD: cacheMissCost.costUSD, colors }),
    ...renderSection(
      colors.bold("Most expensive sessions"),
      sessions
        .slice(0, top)
        .map(({ file, costUSD, requests, cacheMissCost }) => [
          formatUSD(costUSD),
          formatCount(requests, "request"),
          `${formatPercent(cacheMissCost.costUSD, costUSD)} for cache misses`,
          path(file),
        ]),
    ),
    ...missSection(misses, { top, colors, whereOf: ({ file }) => path(file) }),
    ...(skipped.length === 0
      ? []
      : ["", `${formatCount(skipped.length, "file")} could not be read or are no sessions`]),
  ].join("\n");
}

const MAX_PATH_CHARS = 50;
