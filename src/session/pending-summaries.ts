import { clipCodePoints, type SecretRedaction } from "../compaction/summary/text.ts";
import type { PendingToolSummary } from "../compaction/tool-summaries/maybe-summarize-tool-results.ts";
import {
  handleOfRef,
  maxAnswerCodePoints,
  type ToolResultRef,
} from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { isObject } from "../text/json.ts";
import { redactSecrets } from "../text/secrets/redact-secrets.ts";
import type { Handle } from "../transcript/edit.ts";

/**
 * Tool summaries that were asked for and are not in the window yet. What is asked for is journalled, and again with its
 * answer when that arrives, so that no restart asks for an answer that was there.
 */
export interface PendingSummaries {
  /** As `maybeSummarizeToolResults` takes them. */
  list(): readonly PendingToolSummary[];
  /** Takes those that are left after a step. */
  replace(pending: readonly PendingToolSummary[]): void;
  /** Takes up answers that a state or the journal has kept, for results that can still be summed up. */
  restore(kept: readonly PendingSummary[], isWanted: (handle: Handle) => boolean): void;
  /** As plain data to store. */
  toJSON(): readonly PendingSummary[];
  /** Resolves when every answer is there or has failed. */
  arrived(): Promise<void>;
}

/** Results that are being summed up together, with the answer where it has arrived. */
export interface PendingSummary {
  readonly results: readonly ToolResultRef[];
  readonly answer?: string;
}

/** Nothing pending yet. */
export function createPendingSummaries({ journal, redaction }: PendingSummariesPorts): PendingSummaries {
  let pending: readonly PendingToolSummary[] = [];
  const answers = new WeakMap<object, string>();

  const kept = ({ batch: { results } }: PendingToolSummary): PendingSummary => {
    const answer = answers.get(results);
    return { results, ...(answer !== undefined && { answer }) };
  };

  function keepAnswer(item: PendingToolSummary, text: string): void {
    const clean = redaction === "off" ? text : redactSecrets(text, redaction);
    answers.set(item.batch.results, clipCodePoints(clean, maxAnswerCodePoints("background")));
    if (pending.some(({ batch }) => batch.results === item.batch.results)) journal(kept(item));
  }

  return {
    list: () => pending,

    replace(next) {
      const known = new Set(pending.map(({ answer }) => answer));
      pending = next;
      for (const item of next) {
        if (item.answer === undefined || known.has(item.answer)) continue;
        journal(kept(item));
        item.answer.then((answer) => {
          if (answer.status === "answered") keepAnswer(item, answer.text);
        });
      }
    },

    restore(given, isWanted) {
      pending = given.flatMap(({ results, answer: text }): PendingToolSummary[] => {
        if (text === undefined || !results.every((ref) => isWanted(handleOfRef(ref)))) return [];
        answers.set(results, text);
        return [{ batch: { results }, answer: Promise.resolve({ status: "answered", text }) }];
      });
    },

    toJSON: () => pending.map(kept),

    async arrived() {
      await Promise.all(pending.map(({ answer }) => answer));
    },
  };
}

interface PendingSummariesPorts {
  readonly journal: (pending: PendingSummary) => void;
  readonly redaction: SecretRedaction;
}

/** One line for each group of results: what is known of the newest. */
export function pendingKey({ results }: PendingSummary): string {
  return results.map(handleOfRef).join(" ");
}

/** True for a value from outside that is a pending summary. */
export function isPendingSummary(value: unknown): value is PendingSummary {
  if (!isObject(value) || !Array.isArray(value.results)) return false;
  const { results, answer } = value;
  return results.every(isRef) && (answer === undefined || typeof answer === "string");
}

function isRef(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { messageId, partIndex, callId, tool } = value;
  const isNamed = [messageId, callId, tool].every((name) => typeof name === "string");
  return isNamed && Number.isSafeInteger(partIndex);
}
