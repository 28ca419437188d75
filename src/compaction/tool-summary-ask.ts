import type { Clock } from "./clock.ts";
import type { Summarizer, SummaryRequest } from "./summarizer.ts";

/** A summarizer's answer within its time, or why there is none. Never rejects, whatever the summarizer does; a late answer is dropped. */
export async function askForSummary(
  request: SummaryRequest,
  { summarizer, clock, signal }: AskOptions,
): Promise<SummaryAnswer> {
  if (signal.aborted) return failed("aborted");
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const answer = ask(summarizer, request, controller.signal);
    const timeUp = clock.sleep(TOOL_SUMMARY_LIMIT_MS, controller.signal).then(() => failed("timed-out"));
    const first = await Promise.race([answer, timeUp]);
    return signal.aborted && first.status === "failed" ? failed("aborted") : first;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
  }
}

export interface AskOptions {
  readonly summarizer: Summarizer;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type SummaryAnswer =
  | { readonly status: "answered"; readonly text: string }
  | { readonly status: "failed"; readonly reason: SummaryFailure }
  /** No model was wanted. */
  | { readonly status: "not-asked" };

/** `given-up`: not asked, because others had failed just before. */
export type SummaryFailure = "no-summarizer" | "failed" | "timed-out" | "aborted" | "given-up";

/** How long one tool summary may take. */
export const TOOL_SUMMARY_LIMIT_MS = 30_000;

async function ask(
  summarizer: Summarizer,
  request: SummaryRequest,
  signal: AbortSignal,
): Promise<SummaryAnswer> {
  try {
    const text: unknown = await summarizer.summarize(request, { signal, onProgress: () => {} });
    return typeof text === "string" ? { status: "answered", text } : failed("failed");
  } catch {
    return failed("failed");
  }
}

function failed(reason: SummaryFailure): SummaryAnswer {
  return { status: "failed", reason };
}
