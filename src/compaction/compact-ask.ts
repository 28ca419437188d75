import { isContextLengthExceeded } from "./classify-provider-error.ts";
import type { Clock } from "./clock.ts";
import { callWithin } from "./compact-call.ts";
import { errorText } from "./compact-error-text.ts";
import type { CompactionPlan } from "./plan-compaction-types.ts";
import type { Summarizer } from "./summarizer.ts";
import { createTextCleaner } from "./summary-clean-text.ts";
import { type GateReason, gateSummary } from "./summary-gate.ts";
import { buildSummaryRequest, type RequestChanges } from "./summary-request.ts";
import { upperTokens } from "./summary-serialize.ts";

/** Asks the summarizer at most twice, a second time only when the first answer came and could not be used. */
export async function askSummarizer({
  plan,
  summarizer,
  clock,
  signal,
  changes: hookChanges,
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
    const result = await callWithin({
      start: (options) => summarizer.summarize(request, options),
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
    const gated = gateSummary(result.value, {
      maxTokens: maxSummaryTokens,
      cleaner,
      prompt: request.prompt,
      ...(previousSummary !== undefined && { previousSummary }),
      ...(estimator && { estimator }),
    });
    if (gated.status === "accepted") return { ...gated, calls };
    refusal = { reason: gated.reason };
    changes = { ...hookChanges, note: `${NOTES[gated.reason]} Answer again.` };
  }
  return { status: "refused", ...refusal, calls };
}

export interface SummaryQuestion {
  readonly plan: CompactionPlan;
  readonly summarizer: Summarizer | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** What hooks want changed. */
  readonly changes: RequestChanges;
}

export type SummaryAnswer =
  | { readonly status: "accepted"; readonly text: string; readonly calls: number }
  | ({ readonly status: "refused"; readonly calls: number } & Refusal)
  | { readonly status: "aborted"; readonly calls: number };

interface Refusal {
  readonly reason: DegradedReason;
  /** What the error said, without secrets. */
  readonly detail?: string;
}

/** Why no model's summary was used. */
export type DegradedReason = GateReason | "no-summarizer" | "window-too-small" | "error" | "timeout" | "idle";

/** How long one call may take, how long it may be silent, and how many there may be. */
export const CALL_LIMIT_MS = 90_000;
export const CALL_IDLE_MS = 30_000;
export const MAX_CALLS = 2;

const NOTES: Readonly<Record<GateReason, string>> = {
  "not-text": "The last answer was no text.",
  blank: "The last answer was empty.",
  "tool-call": "The last answer was a tool call; there are no tools.",
  "not-prose": "The last answer was data; write prose under the headings.",
  refusal: "The last answer was a refusal. Nothing is asked but a summary of the quoted record.",
  echo: "The last answer gave the request back.",
  "repeats-itself": "The last answer repeated the previous summary; merge it instead.",
  "too-long": "The last answer was too long.",
};
