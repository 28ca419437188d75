import { workerData } from "node:worker_threads";
import { createEvalJob, type EvalSetup } from "./eval-job.ts";
import { serveThread } from "./thread-pool.ts";

/** Measures the files that the main thread names. */
export async function runEvalWorker(): Promise<void> {
  await serveThread(await createEvalJob(workerData as EvalSetup));
}
