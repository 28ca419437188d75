import type { CompactionPlan } from "./plan/plan-compaction.ts";
import { callWithin } from "./ports/call-within.ts";
import type { Clock, Summarizer } from "./ports/summarizer.ts";
import type { ProgressTeller } from "./progress.ts";
import { isContextLengthExceeded } from "./provider-errors/classify-provider-error.ts";
import {
  buildSummaryRequest,
  checkSummary,
  type RequestChanges,
  type SummaryRefusal,
} from "./summary/request.ts";
import { createTextCleaner, errorText, upperTokens } from "./summary/text.ts";

/**
 * Asks the summarizer at most twice: again after an error or an answer that could not be used, never after a timeout. The
 * second request says what was wrong, or is half as long when the first one did not fit.
 */
export async function askSummarizer({
  plan,
  summarizer,
  clock,
  signal,
  changes: hookChanges,
  progress,
}: SummaryQuestion): Promise<SummaryAnswer> {
  if (summarizer === undefined) return { status: "refused", reason: "no-summarizer", calls: 0 };
  const cleaner = createTextCleaner(plan.redaction);
  const { estimator } = plan.estimate;
  const { maxSummaryTokens, previousSummary } = plan.material;
  let changes = hookChanges;
  let refusal: Refusal = { reason: "window-too-small" };
  let calls = 0;
  while (calls < MAX_CALLS) {
    const { request, fits } = buildSummaryRequest(plan.material, changes);
    if (!fits) break;
    calls++;
    progress.begin("summary", calls);
    const result = await callWithin({
      start: (options) => summarizer.summarize(request, options),
      onProgress: progress.arrived,
      limitMs: CALL_LIMIT_MS,
      idleMs: CALL_IDLE_MS,
      clock,
      signal,
    });
    if (result.status === "aborted") return { status: "aborted", calls };
    if (result.status === "failed") {
      refusal = { reason: "error", detail: errorText(result.error) };
      if (isContextLengthExceeded(result.error)) {
        const sentTokens = upperTokens(request.system + request.prompt);
        changes = { ...hookChanges, maxRequestTokens: Math.floor(sentTokens / 2) };
      }
      continue;
    }
    if (result.status !== "done") return { status: "refused", reason: result.status, calls };
    const checked = checkSummary(result.value, {
      maxTokens: maxSummaryTokens,
      cleaner,
      prompt: request.prompt,
      previousSummary,
      estimator,
    });
    if (checked.status === "accepted") return { ...checked, calls };
    refusal = { reason: checked.reason };
    changes = { ...hookChanges, note: `${RETRY_NOTES[checked.reason]} Answer again.` };
  }
  return { status: "refused", ...refusal, calls };
}

interface SummaryQuestion {
  readonly plan: CompactionPlan;
  readonly summarizer: Summarizer | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** What hooks want changed. */
  readonly changes: RequestChanges;
  readonly progress: ProgressTeller;
}

type SummaryAnswer = { readonly calls: number } & (
  | { readonly status: "accepted"; readonly text: string }
  | ({ readonly status: "refused" } & Refusal)
  | { readonly status: "aborted" }
);

interface Refusal {
  readonly reason: DegradedReason;
  /** What the error said, without secrets. */
  readonly detail?: string;
}

/** Why no model's summary was used. */
export type DegradedReason =
  | SummaryRefusal
  | "no-summarizer"
  | "window-too-small"
  | "error"
  | "timeout"
  | "idle";

/** How long one call of the summarizer may take. */
export const CALL_LIMIT_MS = 90_000;

/** How long it may be silent once something has arrived. */
export const CALL_IDLE_MS = 30_000;

/** How often the summarizer is called for one compaction at most. */
export const MAX_CALLS = 2;

const RETRY_NOTES: Readonly<Record<SummaryRefusal, string>> = {
  "not-text": "The last answer was no text.",
  blank: "The last answer was empty.",
  "tool-call": "The last answer was a tool call; there are no tools.",
  "not-prose": "The last answer was data; write prose under the headings.",
  refusal: "The last answer was a refusal. Nothing is asked but a summary of the quoted record.",
  echo: "The last answer gave the request back.",
  "repeats-itself": "The last answer repeated the previous summary; merge it instead.",
  "too-long": "The last answer was too long.",
};
