import { parentPort, workerData } from "node:worker_threads";
import { createEvalJob, type EvalOutcome, type EvalSetup } from "./eval-job.ts";

/** What a worker answers: which file, and what became of it. */
export interface EvalAnswer {
  readonly path: string;
  readonly outcome: EvalOutcome;
}

/** Measures the files that the main thread names, one at a time, until it is told that there are no more. */
export async function runEvalWorker(): Promise<void> {
  if (parentPort === null) throw new Error("--worker is for the program's own threads");
  const port = parentPort;
  const run = await createEvalJob(workerData as EvalSetup);
  await new Promise<void>((resolve) => {
    port.on("message", async (path: string | null) => {
      if (path === null) {
        port.close();
        resolve();
        return;
      }
      port.postMessage({ path, outcome: await run(path) } satisfies EvalAnswer);
    });
    port.postMessage(null);
  });
}
