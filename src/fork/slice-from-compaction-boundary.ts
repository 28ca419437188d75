import { compactionBoundary } from "../stages/compaction-boundary.ts";
import type { Transcript } from "../transcript/message.ts";
import { runStages } from "../transcript/run-stages.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";

/** The newest completed summary, the tail kept with it, and everything newer; all messages when there is no summary. */
export function sliceFromCompactionBoundary(messages: Transcript): Transcript {
  return runStages(messages, [compactionBoundary({ from: "summary" })]).transcript.filter(isVisibleToModel);
}
