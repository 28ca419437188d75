import type { Transcript } from "../transcript/message.ts";
import type { ForkOptions } from "./fork-options.ts";
import { processMessagesForFork } from "./process-messages-for-fork.ts";
import type { ProcessingStats } from "./processing-stats.ts";

/** What the pipeline would count of a conversation that a child inherits as it is; no limit is named, since none applied. */
export function uncutStats(transcript: Transcript): ProcessingStats {
  const { applied: _, ...stats } = processMessagesForFork(transcript, UNCUT).stats;
  return stats;
}

const ALL = Number.POSITIVE_INFINITY;

const UNCUT: ForkOptions = {
  budgetChars: ALL,
  limits: {
    tier1Count: ALL,
    tier2Count: 0,
    resultChars: { 1: ALL, 2: ALL, 3: ALL },
    paramsChars: { 1: ALL, 2: ALL, 3: ALL },
  },
};
