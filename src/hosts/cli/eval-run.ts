import { Worker } from "node:worker_threads";
import { CliError } from "./cli-error.ts";
import { createEvalJob, type EvalOutcome, type EvalSetup } from "./eval-job.ts";
import type { EvalAnswer } from "./eval-worker.ts";

export interface EvalRun {
  readonly files: readonly string[];
  readonly setup: EvalSetup;
  /** How many threads; one measures right here. */
  readonly jobs: number;
  /** The program that a thread runs. */
  readonly program: string;
  readonly onProgress: (done: number, outcome: EvalOutcome) => void;
}

/** Measures all files, on as many threads as asked for; the outcomes are in the order of the files. */
export async function runEval(run: EvalRun): Promise<readonly EvalOutcome[]> {
  const { files, jobs } = run;
  const outcomes = new Map<string, EvalOutcome>();
  const keep = (path: string, outcome: EvalOutcome): void => {
    outcomes.set(path, outcome);
    run.onProgress(outcomes.size, outcome);
  };
  if (jobs <= 1 || files.length === 1) {
    const measure = await createEvalJob(run.setup);
    for (const path of files) keep(path, await measure(path));
  } else {
    await runThreads(run, keep);
  }
  return files.map((path) => outcomes.get(path) ?? { status: "skipped", reason: "its thread ended early" });
}

async function runThreads(
  { files, setup, jobs, program }: EvalRun,
  keep: (path: string, outcome: EvalOutcome) => void,
): Promise<void> {
  const waiting = [...files];
  const threads = Array.from({ length: Math.min(jobs, files.length) }, () => startThread(program, setup));
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        thread.on("message", (answer: EvalAnswer | null) => {
          if (answer !== null) keep(answer.path, answer.outcome);
          thread.postMessage(waiting.shift() ?? null);
        });
        thread.once("error", reject);
        thread.once("exit", () => resolve());
      }),
  );
  try {
    await Promise.all(finished);
  } catch (error) {
    throw new CliError(`A thread of the measure failed: ${(error as Error).message}`, ["Try --jobs 1."], {
      cause: error,
    });
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** The bundle has one file: a thread runs it again with arguments that lead to `runEvalWorker`. */
function startThread(program: string, setup: EvalSetup): Worker {
  return new Worker(program, { argv: ["eval", "--worker"], workerData: setup });
}
