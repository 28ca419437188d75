import { createEvalJob, type EvalOutcome, type EvalSetup } from "./eval-job.ts";
import { runThreadPool } from "./thread-pool.ts";

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
  const { files, jobs, program, setup } = run;
  const outcomes = new Map<string, EvalOutcome>();
  const keep = (path: string, outcome: EvalOutcome): void => {
    outcomes.set(path, outcome);
    run.onProgress(outcomes.size, outcome);
  };
  if (jobs <= 1 || files.length === 1) {
    const measure = await createEvalJob(setup);
    for (const path of files) keep(path, await measure(path));
  } else {
    await runThreadPool({
      items: files,
      threads: jobs,
      program,
      argv: ["eval", "--worker"],
      setup,
      onAnswer: keep,
    });
  }
  return files.map((path) => outcomes.get(path) ?? { status: "skipped", reason: "its thread ended early" });
}
