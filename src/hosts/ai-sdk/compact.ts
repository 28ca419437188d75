import type { ModelMessage } from "ai";
import type { NotCompactedReason } from "../../compaction/compact.ts";
import { readPreviousSummary } from "../../compaction/summary/message.ts";
import { createTextCleaner } from "../../compaction/summary/text.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { Conversation } from "../../middleware/conversation.ts";
import type { IdleReason } from "../../session/action.ts";
import type { LedgerEntry } from "../../session/ledger.ts";
import type { SummaryUsage } from "../../session/metered-summarizer.ts";
import type { Session } from "../../session/session.ts";
import type { StoredState } from "../../session/stored-state.ts";
import { ConfigurationError, show } from "../../text/check.ts";
import { asObject } from "../../text/unknown-value.ts";
import { isSummary, type Usage } from "../../transcript/message.ts";

/** The outcome of a compaction on request. Nothing of the messages that were given is changed. */
export type CompactResult = CompactedMessages | UnchangedMessages;

/** The messages with their old part summed up. */
export interface CompactedMessages extends CompactReport {
  readonly status: "compacted";
  /** The summary; in `messages` the facts that are carried along stand behind it. */
  readonly summary: string;
  /** Set when it was made without a model. */
  readonly degraded?: true;
}

/** The messages as they were, and why. */
export interface UnchangedMessages extends CompactReport {
  /** `nothing`: there is nothing to gain. `failed`: there is, but no summary could be used, or it was not allowed. */
  readonly status: "nothing" | "failed";
  /** Why, in a word. */
  readonly reason: NotCompactedReason | IdleReason;
  /** Why, in a sentence. */
  readonly message: string;
}

interface CompactReport {
  /** What to send from now on, or to store in place of what was given. */
  readonly messages: ModelMessage[];
  /** What to store beside all messages instead, for `restore`. */
  readonly state: StoredState;
  /** Estimated tokens of the messages before. */
  readonly tokensBefore: number;
  /** Estimated tokens of `messages`. */
  readonly tokensAfter: number;
  /** What the calls for the summary used; all 0 when no model was asked. */
  readonly usage: Usage;
  /** What they cost, where the prices of the model that wrote are known. */
  readonly costUSD?: number;
}

/** Compacts a conversation now, and says what came of it. */
export async function compactConversation(
  { session, conversation, usageListeners }: CompactParts,
  messages: readonly ModelMessage[] | undefined,
  signal: AbortSignal | undefined,
): Promise<CompactResult> {
  if (messages !== undefined) checkMessages(messages);
  const calls: SummaryUsage[] = [];
  const listen = (used: SummaryUsage): void => void calls.push(used);
  usageListeners.add(listen);
  const done = await conversation
    .compact(messages as unknown as AiSdkWire | undefined, signal)
    .finally(() => usageListeners.delete(listen));
  const { entry, action } = done;
  const report: CompactReport = {
    messages: done.wire as unknown as ModelMessage[],
    state: session.toJSON(),
    tokensBefore: entry?.tokensBefore ?? done.tokens,
    tokensAfter: entry?.tokensAfter ?? done.tokens,
    ...totalOf(calls),
  };
  if (entry?.outcome === "applied") {
    const degraded = entry.degraded && ({ degraded: true } as const);
    return { status: "compacted", summary: newestSummary(session), ...degraded, ...report };
  }
  const reason = reasonOf(entry, action);
  const status = entry === undefined || entry.outcome === "nothing" ? "nothing" : "failed";
  return { status, reason, message: SENTENCES[reason] ?? `Nothing was done: ${reason}.`, ...report };
}

interface CompactParts {
  readonly session: Session;
  readonly conversation: Conversation;
  /** Called with what each call for a summary used. */
  readonly usageListeners: Set<(used: SummaryUsage) => void>;
}

function checkMessages(messages: unknown): void {
  const isList = Array.isArray(messages);
  const isOfPage = isList && messages.some((each) => Array.isArray(asObject(each).parts));
  if (isOfPage)
    throw new ConfigurationError([
      "messages are those of a page (UIMessage); give await convertToModelMessages(messages)",
    ]);
  if (!isList) throw new ConfigurationError([`messages is ${show(messages)}; give a list of ModelMessage`]);
}

function reasonOf(
  entry: LedgerEntry | undefined,
  action: { readonly type: string },
): UnchangedMessages["reason"] {
  // The ledger names why a compaction was not made; where none was tried, the session does.
  const { reason = "nothing-to-gain" } = action as { readonly reason?: IdleReason };
  if (entry?.outcome === "aborted") return "aborted";
  return (
    (entry?.note as NotCompactedReason | undefined) ?? (reason === "manual" ? "nothing-to-gain" : reason)
  );
}

const SENTENCES: Readonly<Partial<Record<string, string>>> = {
  empty: "There is nothing to compact: no message came in.",
  "no-messages": "There is nothing to compact: no message came in.",
  "nothing-old": "There is nothing to compact: what is old is summed up already.",
  "too-little": "There is nothing to compact: what is old is less than a tenth of all.",
  "no-gain": "Nothing was compacted: the summary would have saved less than a tenth.",
  "nothing-to-gain": "There is nothing to compact: the same messages were tried before.",
  "lost-content": "Nothing was compacted: a pin or the last request would have been lost.",
  "summary-failed": "Nothing was compacted: no summary of the model could be used.",
  vetoed: "Nothing was compacted: a hook has forbidden it.",
  aborted: "Nothing was compacted: it was aborted.",
  failed: "Nothing was compacted: something it needs has failed.",
};

function newestSummary(session: Session): string {
  const inserted = session
    .status()
    .batches.findLast(({ step }) => step === "compact")
    ?.edits.flatMap((edit) => (edit.type === "insert-message" ? [edit.message] : []))
    .find(isSummary);
  return readPreviousSummary(inserted === undefined ? [] : [inserted], createTextCleaner("off"))?.prose ?? "";
}

function totalOf(calls: readonly SummaryUsage[]): Pick<CompactReport, "usage" | "costUSD"> {
  const sum = (field: keyof Usage): number =>
    calls.reduce((total, { usage }) => total + (usage[field] ?? 0), 0);
  const usage: Usage = {
    inputTokens: sum("inputTokens"),
    outputTokens: sum("outputTokens"),
    reasoningTokens: sum("reasoningTokens"),
    cacheReadTokens: sum("cacheReadTokens"),
    cacheWriteTokens: sum("cacheWriteTokens"),
  };
  const prices = calls.flatMap(({ costUSD }) => (costUSD === undefined ? [] : [costUSD]));
  return prices.length === 0 ? { usage } : { usage, costUSD: prices.reduce((all, each) => all + each, 0) };
}
