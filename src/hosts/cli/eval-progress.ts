import type { EvalOutcome } from "./eval-job.ts";
import { createFileProgress } from "./file-progress.ts";

/** Says on standard error how far a run is, and in the end which files were skipped. */
export interface EvalProgress {
  readonly step: (done: number, outcome: EvalOutcome) => void;
  readonly end: (files: readonly string[], outcomes: readonly EvalOutcome[]) => void;
}

/** The progress of measuring this many files. */
export function createEvalProgress(stream: NodeJS.WriteStream, total: number): EvalProgress {
  const progress = createFileProgress(stream, total);
  let fromCache = 0;
  return {
    step(done, outcome) {
      if (outcome.status === "measured" && outcome.source === "cache") fromCache++;
      progress.step(done, fromCache > 0 ? `, ${fromCache} known from before` : "");
    },
    end(files, outcomes) {
      progress.end();
      for (const [index, outcome] of outcomes.entries())
        if (outcome.status === "skipped") stream.write(`skipped ${files[index]}: ${outcome.reason}\n`);
    },
  };
}
