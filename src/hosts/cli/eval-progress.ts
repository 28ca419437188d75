import type { EvalOutcome } from "./eval-job.ts";

/** Says on standard error how far a run is: one line that changes on a terminal, a few lines elsewhere. */
export interface EvalProgress {
  readonly step: (done: number, outcome: EvalOutcome) => void;
  readonly end: (files: readonly string[], outcomes: readonly EvalOutcome[]) => void;
}

/** The progress of measuring this many files. */
export function createEvalProgress(stream: NodeJS.WriteStream, total: number): EvalProgress {
  let fromCache = 0;
  let saidTenths = 0;
  return {
    step(done, outcome) {
      if (outcome.status === "measured" && outcome.source === "cache") fromCache++;
      const line = `${done} of ${total} files${fromCache > 0 ? `, ${fromCache} known from before` : ""}`;
      const tenths = Math.floor((10 * done) / total);
      if (stream.isTTY) stream.write(`\r${line}`);
      else if (tenths > saidTenths) stream.write(`${line}\n`);
      saidTenths = tenths;
    },
    end(files, outcomes) {
      if (stream.isTTY) stream.write("\n");
      for (const [index, outcome] of outcomes.entries())
        if (outcome.status === "skipped") stream.write(`skipped ${files[index]}: ${outcome.reason}\n`);
    },
  };
}
