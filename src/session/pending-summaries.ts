import { clipCodePoints, type SecretRedaction } from "../compaction/summary/text.ts";
import type { ToolSummaryAnswer } from "../compaction/tool-summaries/edits.ts";
import type { PendingToolSummary } from "../compaction/tool-summaries/maybe-summarize-tool-results.ts";
import {
  handleOfRef,
  maxAnswerCodePoints,
  type ToolResultRef,
} from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { redactSecrets } from "../text/secrets/redact-secrets.ts";
import { isObject } from "../text/unknown-value.ts";

/**
 * The calls of the summarizer that tool results wait for. What is asked for is in the state and the journal, and again with
 * its answer when that arrives, so that no restart asks for an answer that was there.
 */
export interface AnswersOnTheWay {
  /** What is pending, as `maybeSummarizeToolResults` takes it. */
  list(): readonly PendingToolSummary[];
  /** Takes those that are left after a step. */
  replace(pending: readonly PendingToolSummary[]): void;
  /** Resolves when every answer is there or has failed. */
  arrived(): Promise<void>;
}

/** Results that are being summed up together, with the answer where it has arrived. */
export interface PendingSummary {
  readonly results: readonly ToolResultRef[];
  readonly answer?: string;
  /** Why no answer came. */
  readonly failed?: string;
}

/** No call yet. */
export function createAnswers({ options, pending, change, write }: AnswersPorts): AnswersOnTheWay {
  const calls = new Map<string, PendingToolSummary>();

  function keep(key: string, came: Omit<PendingSummary, "results">): void {
    const kept = pending().map((each) => (pendingKey(each) === key ? { ...each, ...came } : each));
    change(kept);
    for (const each of kept) if (pendingKey(each) === key) write(each);
  }

  function clean(text: string): string {
    const { redaction } = options;
    const shown = redaction === "off" ? text : redactSecrets(text, redaction);
    return clipCodePoints(shown, maxAnswerCodePoints("background"));
  }

  const list = (): readonly PendingToolSummary[] =>
    pending().map(({ results, answer: text, failed }) => {
      const call = calls.get(pendingKey({ results }));
      if (call !== undefined) return call;
      const answer: ToolSummaryAnswer | undefined =
        text !== undefined
          ? { status: "answered", text }
          : failed !== undefined
            ? { status: "failed", reason: "failed" }
            : undefined;
      return { batch: { results }, ...(answer && { answer: Promise.resolve(answer) }) };
    });

  return {
    list,

    replace(next) {
      const before = new Map(pending().map((each) => [pendingKey(each), each]));
      const known = new Set([...calls.values()].map(({ answer }) => answer));
      calls.clear();
      for (const item of next) calls.set(pendingKey(item.batch), item);
      change(next.map(({ batch: { results } }) => before.get(pendingKey({ results })) ?? { results }));
      for (const item of next) {
        if (item.answer === undefined || known.has(item.answer)) continue;
        const key = pendingKey(item.batch);
        if (before.get(key)?.answer === undefined) write({ results: item.batch.results });
        item.answer.then((answer) => {
          if (calls.get(key) !== item) return;
          if (answer.status === "answered") keep(key, { answer: clean(answer.text) });
          else if (answer.status === "failed" && answer.reason !== "aborted")
            keep(key, { failed: answer.reason });
        });
      }
    },

    async arrived() {
      await Promise.all(list().map(({ answer }) => answer));
    },
  };
}

interface AnswersPorts {
  readonly options: { readonly redaction: SecretRedaction };
  /** What is pending now. */
  readonly pending: () => readonly PendingSummary[];
  readonly change: (pending: readonly PendingSummary[]) => void;
  readonly write: (pending: PendingSummary) => void;
}

/** One line for each group of results: what is known of the newest. */
export function pendingKey({ results }: Pick<PendingSummary, "results">): string {
  return results.map(handleOfRef).join(" ");
}

/** True for a value from outside that is a pending summary. */
export function isPendingSummary(value: unknown): value is PendingSummary {
  if (!isObject(value) || !Array.isArray(value.results)) return false;
  const { results, answer, failed } = value;
  const isText = [answer, failed].every((text) => text === undefined || typeof text === "string");
  return results.every(isRef) && isText;
}

function isRef(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { messageId, partIndex, callId, tool } = value;
  const isNamed = [messageId, callId, tool].every((name) => typeof name === "string");
  return isNamed && Number.isSafeInteger(partIndex);
}
