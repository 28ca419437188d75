import type { Clock } from "./clock.ts";
import { type CallResult, callWithin } from "./compact-call.ts";
import type { Summarizer, SummaryRequest } from "./summarizer.ts";

/** A summarizer's answer within its time, or why there is none. Never rejects, whatever the summarizer does; a late answer is dropped. */
export async function askForSummary(
  request: SummaryRequest,
  { summarizer, clock, signal }: AskOptions,
): Promise<ToolSummaryAnswer> {
  const result: CallResult<unknown> = await callWithin<unknown>({
    start: (options) => summarizer.summarize(request, options),
    limitMs: TOOL_SUMMARY_LIMIT_MS,
    clock,
    signal,
  });
  if (result.status === "done" && typeof result.value === "string")
    return { status: "answered", text: result.value };
  if (result.status === "aborted") return { status: "failed", reason: "aborted" };
  return { status: "failed", reason: result.status === "timeout" ? "timed-out" : "failed" };
}

export interface AskOptions {
  readonly summarizer: Summarizer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type ToolSummaryAnswer =
  | { readonly status: "answered"; readonly text: string }
  | { readonly status: "failed"; readonly reason: SummaryFailure }
  /** No model was wanted. */
  | { readonly status: "not-asked" };

/** `given-up`: not asked, because others had failed just before. */
export type SummaryFailure = "no-summarizer" | "failed" | "timed-out" | "aborted" | "given-up";

/** How long one tool summary may take. */
export const TOOL_SUMMARY_LIMIT_MS = 30_000;
