import type { ContextEstimate } from "../transcript/estimate-context.ts";
import type { Transcript } from "../transcript/message.ts";
import { beginEpoch, FRESH_MEASURE, type MeasureFacts, measureOf, startByTimes } from "./measure.ts";
import { windowOf } from "./window.ts";

/**
 * How large the window of a recorded session is, which is what a session says of it in `status()`: the provider's count
 * at the last request that still holds, and an estimate of what came later. After a compaction, and until the next
 * request, it is all estimated.
 */
export function measureWindow(transcript: Transcript): WindowSize {
  const window = windowOf(transcript);
  const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
  const facts: MeasureFacts = { estimator: "calibrated", model, contextWindowTokens: 0 };
  // Its own usage teaches the scale of what came behind it.
  const learned = beginEpoch(FRESH_MEASURE, { ended: window, begun: window }, facts);
  // Its scale alone: the rest is judged anew.
  const { outside: _, doubted: __, ...scaled } = learned;
  const estimate = measureOf(window, { ...scaled, epochStart: startByTimes(window.marked) }, facts);
  const { tokens, low, high, source, usageTokens, trailingTokens, lastUsageIndex } = estimate;
  const messageTokens = estimate.uncounted.tokens;
  return {
    ...{ tokens, low, high, source, usageTokens, trailingTokens, lastUsageIndex, messageTokens },
    ...(source === "usage" && { outsideTokens: Math.max(0, tokens - messageTokens) }),
  };
}

/** The size of a window, and how much of it is messages. */
export interface WindowSize extends ContextEstimate {
  /** What its messages alone are estimated to take. */
  readonly messageTokens: number;
  /**
   * What the provider counted beyond the messages: system prompt, tool definitions, thinking that is not recorded.
   * Unset where nothing that it counted still holds.
   */
  readonly outsideTokens?: number;
}
