import type { SummarizeOptions, Summarizer, SummaryRequest } from "../compaction/summarizer.ts";

/** A summarizer that says what it was told to say and remembers what it was asked. */
export interface FakeSummarizer extends Summarizer {
  readonly calls: readonly FakeCall[];
}

export interface FakeCall {
  readonly request: SummaryRequest;
  readonly options: SummarizeOptions;
}

/** A text to answer with, an error to reject with, or a function that does as it likes, broken answers included. */
export type FakeAnswer =
  | string
  | Error
  | ((request: SummaryRequest, options: SummarizeOptions, callIndex: number) => unknown);

/** Makes a summarizer for tests: one answer a call, the last one again for all calls after it. */
export function createFakeSummarizer(...answers: readonly FakeAnswer[]): FakeSummarizer {
  const calls: FakeCall[] = [];
  return {
    calls,
    summarize(request, options) {
      const callIndex = calls.length;
      calls.push({ request, options });
      const answer = answers[Math.min(callIndex, answers.length - 1)] ?? "";
      if (answer instanceof Error) return Promise.reject(answer);
      // What a test lets it return may be anything; the port's type is what a well-behaved driver keeps.
      if (typeof answer === "function") return answer(request, options, callIndex) as Promise<string>;
      return Promise.resolve(answer);
    },
  };
}
