import { type Settled, settleCompaction } from "../../../compaction/compact-settle.ts";
import { foldSummary } from "../../../compaction/fold.ts";
import type { CompactionPlan } from "../../../compaction/plan-compaction-types.ts";
import type { FormatName } from "../../../formats/detect-format.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { planFor } from "../../cli/compact-plan.ts";

/** A compaction without a model, carried out at once; or why there is none. */
export function foldNow(transcript: Transcript, options: FoldNowOptions): Folded {
  const { format, windowTokens, keepTokens } = options;
  const plan = planFor({ transcript, format }, { windowTokens, keepTokens });
  if (plan.status === "nothing") return { status: "unchanged", reason: plan.reason };
  const { estimator } = plan.estimate;
  const summary = foldSummary(plan.foldMaterial, {
    maxTokens: plan.material.maxSummaryTokens,
    ...(estimator && { estimator }),
  });
  const settled = settleCompaction(plan, { prose: summary, degraded: true, continuation: "append" }, 0);
  return settled.status === "compacted" ? { ...settled, plan, summary } : settled;
}

export interface FoldNowOptions {
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly keepTokens?: number | undefined;
}

export type Folded =
  | (Extract<Settled, { status: "compacted" }> & {
      readonly plan: CompactionPlan;
      readonly summary: string;
    })
  | { readonly status: "unchanged"; readonly reason: string };
