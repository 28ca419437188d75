import { type CarriedFacts, readCarriedFacts } from "../transcript/carried-facts.ts";
import type { Message } from "../transcript/message.ts";
import { fenceQuote, type TextCleaner } from "./summary-clean-text.ts";

/** How a summary in the user's role begins. */
export const SUMMARY_PREFIX = "[Previous conversation summary]";

/** True for a message that stands for what a compaction folded: known by its flag or its kind, never by its text. */
export function isSummary({ summary, metadata }: Message): boolean {
  return summary === true || metadata?.kind === "compaction_summary";
}

/** What an earlier compaction left: its prose, and its facts as data where it was ours. */
export interface PreviousSummary {
  readonly prose: string;
  readonly facts: CarriedFacts | undefined;
}

/** The newest summary among some messages, without those that failed or were never finished. */
export function readPreviousSummary(
  messages: readonly Message[],
  cleaner: TextCleaner,
): PreviousSummary | undefined {
  const message = messages.findLast((each) => each.error === undefined && !each.unfinished && hasText(each));
  if (message === undefined) return undefined;
  const facts = readCarriedFacts(message.metadata?.carried);
  // Ours is the first text of its message; the second repeats the facts.
  const text = facts === undefined ? textsOf(message).join("\n\n") : (textsOf(message)[0] ?? "");
  const prose = text.startsWith(SUMMARY_PREFIX) ? text.slice(SUMMARY_PREFIX.length) : text;
  return { prose: fenceQuote(cleaner.data(prose)).trim(), facts };
}

function hasText(message: Message): boolean {
  return textsOf(message).some((text) => text.trim() !== "");
}

function textsOf({ parts }: Message): readonly string[] {
  return parts.flatMap((part) => (part.type === "text" && part.agentVisible !== false ? [part.text] : []));
}
