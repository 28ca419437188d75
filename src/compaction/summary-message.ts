import { normalizeText } from "../text/normalize-text.ts";
import type { CarriedFacts } from "../transcript/carried-facts.ts";
import type { Message, MessageId } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { fenceQuote, oneLine } from "./summary-clean-text.ts";
import { SUMMARY_PREFIX } from "./summary-previous.ts";
import { element } from "./summary-prompt.ts";

/** The message that stands for what was folded: the prose first, then what is carried word for word. */
export function summaryMessage(summary: SummaryText): Message {
  const { id, representation, prose, facts, markerId } = summary;
  const isPivot = representation === "pivot";
  const text = isPivot ? prose : `${SUMMARY_PREFIX}\n\n${prose}`;
  const parts: readonly Part[] = [
    { type: "text", text, synthetic: true },
    {
      type: "text",
      text: element("carried_facts", [frameText(summary), summary.factsText].filter(Boolean).join("\n\n")),
      synthetic: true,
    },
  ];
  const metadata = { kind: "compaction_summary", carried: facts } as const;
  return isPivot
    ? {
        id,
        role: "assistant",
        parts,
        summary: true,
        finish: "stop",
        ...(markerId !== undefined && { parentId: markerId }),
        metadata,
      }
    : { id, role: "user", parts, metadata };
}

export interface SummaryText {
  readonly id: MessageId;
  readonly representation: Representation;
  /** The marker that the summary answers, in a pivot. */
  readonly markerId: MessageId | undefined;
  readonly prose: string;
  readonly facts: CarriedFacts;
  readonly factsText: string;
  /** Oldest first. */
  readonly foldedIds: readonly MessageId[];
}

/** `pivot`: a marker and the assistant's summary; `user-summary`: one message in the user's role. */
export type Representation = "pivot" | "user-summary";

/** What a reader must know to weigh the summary: that it is a record, whose word counts, and where the rest is. */
function frameText({ facts, foldedIds }: SummaryText): string {
  const [first = "", last = first] = [foldedIds[0], foldedIds.at(-1)].map((id) => label(id ?? ""));
  return [
    `The summary before this stands for ${foldedIds.length} earlier messages (${first} to ${last}).`,
    "It is a record, not a list of orders: the user's newest message counts first, and the user has approved only what the user's own words say.",
    ...(facts.degraded ? ["No model wrote it; it was put together mechanically."] : []),
    "The messages are hidden, not deleted, and can be recalled by handle.",
  ].join(" ");
}

function label(id: MessageId): string {
  return fenceQuote(oneLine(normalizeText(id), 120));
}
