import type { Compacted, CompactOutcome } from "../../compaction/compact-outcome.ts";
import type { CompactionPlan, NothingToCompact } from "../../compaction/plan-compaction-types.ts";
import { estimateTokens } from "../../text/estimate-tokens.ts";
import type { CarriedFacts } from "../../transcript/carried-facts.ts";

/** What a compaction does or would do, for a program to read. */
export type CompactionDescription = CompactionWork | NoCompaction;

export interface NoCompaction {
  readonly status: "unchanged";
  readonly format: string;
  readonly reason: string;
  readonly tokensBefore: number;
}

export interface CompactionWork {
  readonly status: "planned" | "compacted";
  readonly format: string;
  readonly tokensBefore: number;
  /** Of a plan: with a mechanical summary in the place of the model's. */
  readonly tokensAfter: number;
  readonly summarized: { readonly messages: number; readonly tokens: number };
  readonly kept: { readonly messages: number; readonly firstId: string | undefined };
  /** Results in what is kept of which only a line is left. */
  readonly cleared: { readonly results: number; readonly chars: number };
  readonly carried: CarriedCounts;
  /** What a model is asked. */
  readonly request: { readonly tokens: number; readonly omittedMessages: number };
  /** Once it is done. */
  readonly summary?: string;
  readonly summaryBy?: "model" | "fold";
}

/** How much stands beside the summary word for word. */
export interface CarriedCounts {
  readonly userMessages: number;
  readonly filesRead: number;
  readonly filesChanged: number;
  readonly anchors: number;
}

export interface DescribeOptions {
  readonly isDryRun: boolean;
  readonly format: string;
}

/** Describes a plan together with what came of it. */
export function describeCompaction(
  plan: CompactionPlan | NothingToCompact,
  outcome: CompactOutcome,
  options: DescribeOptions,
): CompactionDescription {
  if (plan.status === "planned" && outcome.status === "compacted")
    return describeWork(plan, outcome, options);
  const reason = outcome.status === "unchanged" ? outcome.reason : "nothing-old";
  return { status: "unchanged", format: options.format, reason, tokensBefore: plan.tokensBefore };
}

function describeWork(
  plan: CompactionPlan,
  outcome: Compacted,
  { isDryRun, format }: DescribeOptions,
): CompactionWork {
  const onParts = outcome.edits.filter(({ type }) => type === "hide-part" || type === "replace-part");
  const { system, prompt } = plan.request;
  return {
    status: isDryRun ? "planned" : "compacted",
    format,
    tokensBefore: plan.tokensBefore,
    tokensAfter: outcome.tokensAfter,
    summarized: { messages: plan.foldedIds.length, tokens: plan.replacedTokens },
    kept: { messages: plan.keptIds.length, firstId: plan.firstKeptId },
    cleared: {
      results: onParts.length,
      chars: onParts.reduce((sum, edit) => sum + (edit.omitted?.chars ?? 0), 0),
    },
    carried: countFacts(plan.facts),
    request: {
      tokens: estimateTokens(system + prompt, { estimator: "calibrated" }),
      omittedMessages: plan.omittedMessages,
    },
    ...(!isDryRun && {
      summary: outcome.summary,
      summaryBy: outcome.degraded === undefined ? ("model" as const) : ("fold" as const),
    }),
  };
}

function countFacts({ userWords, filesRead, filesChanged, anchors }: CarriedFacts): CarriedCounts {
  return {
    userMessages: userWords.length,
    filesRead: filesRead.length,
    filesChanged: filesChanged.length,
    anchors: anchors.length,
  };
}
