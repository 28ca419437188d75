import { windowOf } from "../../session/window.ts";
import { estimateContext, promptTokens, reportsContextUsage } from "../../transcript/estimate-context.ts";
import { messageSizes } from "../../transcript/estimate-message.ts";
import { isSummary, type Transcript } from "../../transcript/message.ts";
import type { EvalSession } from "../probe/places.ts";

/**
 * The requests of a session, each with an estimate of its whole prompt. System prompt and tools are not recorded.
 * They are taken as what the provider counted beyond the messages at the first request of a window with the same
 * model; that request itself is not judged.
 */
export function measurePrompts({ transcript }: Pick<EvalSession, "transcript">): readonly PromptStep[] {
  let first: Prompt | undefined;
  let largest = { counted: 0, estimated: 0 };
  let isComparable = true;
  const steps: PromptStep[] = [];
  for (const [index, message] of transcript.entries()) {
    const counted = promptTokens(message.usage);
    if (!reportsContextUsage(message) || message.model === undefined || counted === 0) continue;
    const { model } = message;
    const window = windowOf(transcript.slice(0, index)).marked;
    const uncounted = { estimator: "calibrated", model, epochStartIndex: Number.POSITIVE_INFINITY } as const;
    const estimated = estimateContext(window, uncounted).tokens;
    const prompt: Prompt = {
      model: model.id,
      summaryId: window.findLast(isSummary)?.id,
      outsideTokens: counted - estimated,
      ...unscaledSize(window),
    };
    if (first?.model !== prompt.model || first.summaryId !== prompt.summaryId) {
      first = prompt;
      largest = { counted, estimated };
      isComparable = true;
      continue;
    }
    // Thoughts of earlier turns are expected to disappear.
    const known = Math.max(0, largest.estimated - estimated);
    isComparable &&= largest.counted - known - counted <= MAX_LOST_SHARE * largest.counted;
    if (counted > largest.counted) largest = { counted, estimated };
    steps.push({
      model: prompt.model,
      promptTokens: counted,
      estimatedTokens: estimated + first.outsideTokens,
      unscaledTokens: prompt.unscaledTokens - first.unscaledTokens,
      calls: prompt.calls - first.calls,
      isComparable,
    });
  }
  return steps;
}

/** A request whose prompt the provider counted, and our estimate of it without any usage. */
export interface PromptStep {
  readonly model: string;
  readonly promptTokens: number;
  readonly estimatedTokens: number;
  /** How much of the estimate is the messages that came since the first request, before the family's scale. */
  readonly unscaledTokens: number;
  /** The calls among them. */
  readonly calls: number;
  /** False where the host sent less than the file shows, such as after it cleared results of its own accord. */
  readonly isComparable: boolean;
}

/** Prompts grow. One that lost more than this share was changed by the host in a way that the file does not show. */
const MAX_LOST_SHARE = 0.1;

interface Prompt extends UnscaledSize {
  readonly model: string;
  /** Of the newest compaction, after which a window begins anew. */
  readonly summaryId: string | undefined;
  readonly outsideTokens: number;
}

type UnscaledSize = Pick<PromptStep, "unscaledTokens" | "calls">;

function unscaledSize(window: Transcript): UnscaledSize {
  let [unscaledTokens, calls] = [0, 0];
  for (const message of window) {
    const sizes = messageSizes(message, "calibrated");
    unscaledTokens += sizes.writtenTokens + sizes.resultTokens;
    calls += sizes.calls;
  }
  return { unscaledTokens, calls };
}
