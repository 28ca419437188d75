import { classifyProviderError } from "./classify-provider-error.ts";
import { readUsage } from "./read-usage.ts";

/**
 * Whether an answer that came without an error shows that the window was exceeded all the same:
 * by its stop reason, by usage above the window, by an empty answer, or by a prompt the server cut short.
 */
export function detectSilentOverflow(answer: ModelAnswer): SilentOverflow {
  const reason = silentReason(answer);
  return { isOverflow: OVERFLOWS.has(reason), reason };
}

export interface ModelAnswer {
  /** As the provider reported it; pass it through `readUsage` first where its input includes cached tokens. */
  readonly usage?: unknown;
  readonly stopReason?: string;
  /** 0 when unknown. */
  readonly contextWindowTokens: number;
  /** What the request was estimated at before it was sent. */
  readonly sentEstimateTokens?: number;
  /** `just-compacted`: the first answer after a compaction, whose usage may describe the old context. */
  readonly moment?: "just-compacted" | "other";
}

export interface SilentOverflow {
  readonly isOverflow: boolean;
  readonly reason: SilentReason;
}

/** `usage-anomaly` is an accounting fault of the provider: compacting because of it would never end. */
export type SilentReason =
  | "stop-reason"
  | "usage-over-window"
  | "empty-answer"
  | "truncated-prompt"
  | "usage-anomaly"
  | "fits";

const OVERFLOWS: ReadonlySet<SilentReason> = new Set([
  "stop-reason",
  "usage-over-window",
  "empty-answer",
  "truncated-prompt",
]);

/** Usage this many times the window cannot come from a request that was sent. */
const ABSURD_FACTOR = 2;
const FULL_SHARE = 0.99;
const TRUNCATED_SHARE = 0.6;
/** Below this an estimate is too rough to prove a cut. */
const MIN_ESTIMATE_TOKENS = 1_000;

function silentReason({
  usage,
  stopReason,
  contextWindowTokens,
  sentEstimateTokens,
  moment,
}: ModelAnswer): SilentReason {
  if (stopReason !== undefined && classifyProviderError({ stop_reason: stopReason }).isOverflow)
    return "stop-reason";
  const counted = readUsage(usage);
  if (counted === undefined) return "fits";

  const promptTokens = counted.inputTokens + counted.cacheReadTokens + counted.cacheWriteTokens;
  const estimateTokens = sentEstimateTokens ?? 0;
  if (contextWindowTokens > 0) {
    const estimateFits = estimateTokens > 0 && estimateTokens <= contextWindowTokens;
    const isAbsurd = promptTokens > contextWindowTokens * ABSURD_FACTOR;
    if (isAbsurd && (estimateFits || moment === "just-compacted")) return "usage-anomaly";
    if (promptTokens > contextWindowTokens)
      return counted.outputTokens === 0 ? "empty-answer" : "usage-over-window";
    const isFull = promptTokens >= contextWindowTokens * FULL_SHARE;
    if (isFull && counted.outputTokens === 0 && isLengthStop(stopReason)) return "empty-answer";
  }
  const isCut = promptTokens > 0 && promptTokens < estimateTokens * TRUNCATED_SHARE;
  return isCut && estimateTokens >= MIN_ESTIMATE_TOKENS ? "truncated-prompt" : "fits";
}

function isLengthStop(stopReason: string | undefined): boolean {
  return (
    stopReason !== undefined && classifyProviderError({ stop_reason: stopReason }).class === "output_limit"
  );
}
