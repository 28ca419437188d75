import { classifyProviderError } from "../provider-errors/classify-provider-error.ts";
import { readUsage } from "./read-usage.ts";

/**
 * Whether an answer that came without an error shows that the window was exceeded all the same:
 * by its stop reason, by usage above the window, by an empty answer, or by a prompt the server cut short.
 */
export function detectSilentOverflow(answer: ModelAnswer): SilentOverflow {
  const reason = silentReason(answer);
  return { isOverflow: reason !== "fits" && reason !== "usage-anomaly", reason };
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

interface SilentOverflow {
  readonly isOverflow: boolean;
  readonly reason: SilentReason;
}

/** `usage-anomaly` is a count that cannot be right: compacting because of it would be repeated for ever. */
type SilentReason =
  | "stop-reason"
  | "usage-over-window"
  | "empty-answer"
  | "truncated-prompt"
  | "usage-anomaly"
  | "fits";

/** Usage this many times the window cannot come from a request that was sent. */
const ABSURD_FACTOR = 2;

const FULL_SHARE = 0.99;

const TRUNCATED_SHARE = 0.6;

/** A smaller estimate is too rough to show that the prompt was cut. */
const MIN_ESTIMATE_TOKENS = 1_000;

/** The usual stop reasons, which need no classification. */
const ORDINARY_STOPS: ReadonlySet<string> = new Set(
  "stop end_turn tool-calls tool_calls tool_use completed".split(" "),
);

function silentReason({
  usage,
  stopReason,
  contextWindowTokens,
  sentEstimateTokens,
  moment,
}: ModelAnswer): SilentReason {
  const isOrdinary = stopReason === undefined || ORDINARY_STOPS.has(stopReason);
  const stop = isOrdinary ? undefined : classifyProviderError({ stop_reason: stopReason });
  if (stop?.isOverflow) return "stop-reason";
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
    if (isFull && counted.outputTokens === 0 && stop?.class === "output_limit") return "empty-answer";
  }
  const isCut = promptTokens > 0 && promptTokens < estimateTokens * TRUNCATED_SHARE;
  return isCut && estimateTokens >= MIN_ESTIMATE_TOKENS ? "truncated-prompt" : "fits";
}
