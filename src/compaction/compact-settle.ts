import { applyEdits } from "../transcript/apply-edits.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { cancelEdits } from "./compact-cancel.ts";
import { missingAfter } from "./compact-check.ts";
import { compactionEdits, FACTS_SHARES, type SummaryResult } from "./compact-edits.ts";
import type { Compacted, NotCompacted } from "./compact-outcome.ts";
import { contextTokens } from "./plan-compaction.ts";
import type { CompactionPlan, NothingToCompact } from "./plan-compaction-types.ts";

/** The edits of a compaction that stands, or why it does not: it gains too little, or loses what must stay. */
export function settleCompaction(
  plan: CompactionPlan,
  summary: Omit<SummaryResult, "factsShare">,
  at: number,
): Settled {
  for (const factsShare of FACTS_SHARES) {
    const edits = compactionEdits(plan, { ...summary, factsShare });
    const messages = applyEdits(plan.transcript, edits, { at });
    const missing = missingAfter(plan, messages);
    if (missing.length > 0) {
      return {
        status: "unchanged",
        reason: "lost-content",
        detail: `not before the model: ${missing.join(", ")}`,
      };
    }
    const tokensAfter = contextTokens(messages.filter(isVisibleToModel), plan.estimate);
    if (tokensAfter <= plan.tokensBefore * MAX_TOKENS_SHARE) {
      return { status: "compacted", edits, messages, tokensAfter };
    }
  }
  return { status: "unchanged", reason: "no-gain" };
}

export type Settled =
  | ({ readonly status: "compacted" } & Pick<Compacted, "edits" | "messages" | "tokensAfter">)
  | ({ readonly status: "unchanged" } & Pick<NotCompacted, "reason" | "detail">);

/** The most that may be left for a compaction to stand. */
export const MAX_TOKENS_SHARE = 0.9;

/** What to do about a plan that was not carried out: its marker no longer waits. An abort leaves everything as it was. */
export function editsWhenUnchanged(
  plan: CompactionPlan | NothingToCompact,
  { reason, detail = reason }: Pick<NotCompacted, "reason" | "detail">,
): NotCompacted["edits"] {
  if (reason === "aborted" || reason === "already-running") return [];
  const isFailure = plan.status === "planned" && reason !== "vetoed";
  return cancelEdits(
    plan,
    isFailure ? { name: reason, text: detail, id: plan.ids.summary } : { name: reason },
  );
}
