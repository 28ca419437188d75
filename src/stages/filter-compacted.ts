import type { Transcript } from "../transcript/message.ts";
import { runStages } from "../transcript/run-stages.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { compactionBoundary } from "./compaction-boundary.ts";

/** The messages that a host sends after a compaction: marker, summary, retained tail, then everything newer. */
export function filterCompacted(messages: Transcript): Transcript {
  return runStages(messages, [compactionBoundary({ from: "marker" })]).transcript.filter(isVisibleToModel);
}
