import { filterCompacted } from "../stages/filter-compacted.ts";
import { repairPairing } from "../stages/repair-pairing.ts";
import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  estimateContextTokens,
} from "../transcript/estimate-context-tokens.ts";
import type { Transcript } from "../transcript/message.ts";

/** What a provider would be sent of a transcript, with everything in it that is hidden still marked as such. */
export function wireOf(transcript: Transcript): Transcript {
  const window = filterCompacted(transcript);
  return applyEdits(window, repairPairing(window), { at: 0 });
}

/** How large the wire of a transcript is by estimate alone: a request that was refused has no usage to go by. */
export function estimateWire(transcript: Transcript, options: ContextEstimateOptions = {}): ContextEstimate {
  return estimateContextTokens(wireOf(transcript), {
    estimator: "calibrated",
    ...options,
    epochStartIndex: Number.POSITIVE_INFINITY,
  });
}

/** The same after some edits. */
export function estimateEdited(
  transcript: Transcript,
  edits: readonly Edit[],
  options: ContextEstimateOptions = {},
): ContextEstimate {
  return estimateWire(applyEdits(transcript, edits, { at: 0 }), options);
}
