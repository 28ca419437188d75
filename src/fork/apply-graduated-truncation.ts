import { graduatedTiers } from "../stages/graduated-tiers.ts";
import { FIXED_TIER_LIMITS, type TierLimits } from "../stages/tool-result-tier.ts";
import type { Transcript } from "../transcript/message.ts";
import { runStages } from "../transcript/run-stages.ts";

/** The messages with their tool results and inputs cut by age. */
export function applyGraduatedTruncation(
  messages: Transcript,
  limits: TierLimits = FIXED_TIER_LIMITS,
): Transcript {
  return runStages(messages, [graduatedTiers({ limits })]).transcript;
}
