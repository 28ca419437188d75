import type { ContextEstimate } from "../transcript/estimate-context.ts";
import type { Transcript } from "../transcript/message.ts";
import { createContextMeter } from "./context-meter.ts";
import { createWindowReader } from "./window.ts";

/**
 * How large the window of a recorded session is, which is what a session says of it in `status()`: the provider's count
 * at the last request that still holds, and an estimate of what came later. After a compaction, and until the next
 * request, it is all estimated.
 */
export function measureWindow(transcript: Transcript): WindowSize {
  return createWindowMeasure()(transcript);
}

/** The same for one transcript after another; what they begin with alike is read once. */
export function createWindowMeasure(): (transcript: Transcript) => WindowSize {
  const readWindow = createWindowReader();
  return (transcript) => {
    const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
    const meter = createContextMeter(() => readWindow(transcript), {
      estimator: "calibrated",
      ...(model && { model }),
    });
    meter.learn(new Set(transcript.map(({ id }) => id)));
    const estimate = meter.estimate();
    const messageTokens = meter.estimateUncounted().tokens;
    return { ...estimate, messageTokens, ...outsideOf(estimate, messageTokens) };
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

function outsideOf({ tokens, source }: ContextEstimate, messageTokens: number): { outsideTokens?: number } {
  return source === "usage" ? { outsideTokens: Math.max(0, tokens - messageTokens) } : {};
}
