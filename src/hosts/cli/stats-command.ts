import { availableParallelism } from "node:os";
import { isMainThread } from "node:worker_threads";
import { Command, Option } from "commander";
import { CliError, EXIT_CODES } from "./cli-error.ts";
import { colorsFor } from "./colors.ts";
import { countOf } from "./count-of.ts";
import { findEvalFiles } from "./eval-files.ts";
import { createFileProgress } from "./file-progress.ts";
import { type FolderStats, folderStats } from "./folder-stats.ts";
import { type FileStats, fileStats } from "./stats-file.ts";
import { statsReport } from "./stats-report.ts";
import { runThreadPool, serveThread } from "./thread-pool.ts";

/** `carryover stats`: totals, percentiles and the worst offenders of a folder of sessions. */
export function statsCommand(): Command {
  return new Command("stats")
    .description("sum up all sessions in a folder: totals, percentiles, worst offenders")
    .argument("[paths...]", "folders or files; any format that is known, also gzipped")
    .option("--json", "print for a program to read")
    .option("--top <n>", "how many are listed", countOf, 5)
    .option("--jobs <n>", "threads", countOf, availableParallelism())
    .addOption(new Option("--worker").hideHelp())
    .addHelpText("after", EXAMPLES)
    .action(runStats);
}

const EXAMPLES = `
Examples:
  carryover stats ~/.claude/projects
  carryover stats ~/.codex/sessions ~/.pi/agent/sessions --top 20
  carryover stats sessions/ --json | jq '.percentiles.windowTokens'

Ctrl-C ends it and shows what was measured until then (exit code 130). Nothing is written.`;

interface StatsFlags {
  readonly json?: true;
  readonly top: number;
  readonly jobs: number;
  readonly worker?: true;
}

async function runStats(paths: readonly string[], { json, top, jobs, worker }: StatsFlags): Promise<void> {
  if (worker && !isMainThread) return serveThread(fileStats);
  const roots = paths.length === 0 ? ["."] : paths;
  const files = await findEvalFiles(roots);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop);
  const outcomes = await measureFiles(files, { jobs, signal: stopping.signal }).finally(() =>
    process.off("SIGINT", stop),
  );
  const stats = folderStats(outcomes, { top });
  if (stats.files.read > 0 || json) print(stats, { json, top, folder: roots[0] ?? "." });
  if (stopping.signal.aborted)
    throw new CliError(`Stopped after ${outcomes.length} of ${files.length} files`, [], {
      exitCode: EXIT_CODES.stopped,
    });
  if (stats.files.read === 0) {
    const reasons = stats.skipped.slice(0, top).map(({ reason }) => reason);
    throw new CliError("None of the files is a transcript that can be read", reasons);
  }
}

interface Measuring {
  readonly jobs: number;
  readonly signal: AbortSignal;
}

/** What became of each file, in the order of the files; those that were not reached are left out. */
async function measureFiles(
  files: readonly string[],
  { jobs, signal }: Measuring,
): Promise<readonly FileStats[]> {
  const outcomes = new Map<string, FileStats>();
  const progress = createFileProgress(process.stderr, files.length);
  const keep = (path: string, outcome: FileStats): void => {
    outcomes.set(path, outcome);
    progress.step(outcomes.size);
  };
  try {
    if (jobs <= 1 || files.length === 1) {
      for (const path of files) {
        if (signal.aborted) break;
        keep(path, await fileStats(path));
      }
    } else {
      await runThreadPool({
        items: files,
        threads: jobs,
        argv: ["stats", "--worker"],
        onAnswer: keep,
        signal,
      });
    }
  } finally {
    progress.end();
  }
  return files.map((path) => outcomes.get(path)).filter((outcome) => outcome !== undefined);
}

interface Printing {
  readonly json: true | undefined;
  readonly top: number;
  readonly folder: string;
}

function print(stats: FolderStats, { json, top, folder }: Printing): void {
  const text = json
    ? JSON.stringify(stats, null, 2)
    : statsReport(stats, { colors: colorsFor(process.stdout), folder: folder.replace(/\/+$/, ""), top });
  process.stdout.write(`${text}\n`);
}
