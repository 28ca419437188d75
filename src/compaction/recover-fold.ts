import { filterCompacted } from "../stages/filter-compacted.ts";
import type { Edit } from "../transcript/edit.ts";
import type { ContextEstimateOptions } from "../transcript/estimate-context-tokens.ts";
import type { Transcript } from "../transcript/message.ts";
import { compactionEdits, FACTS_SHARES } from "./compact-edits.ts";
import { foldSummary } from "./fold.ts";
import type { Pin } from "./pins.ts";
import { planCompaction } from "./plan-compaction.ts";
import { findLastRequest } from "./recover-request.ts";
import { estimateEdited } from "./recover-wire.ts";
import type { Redaction } from "./summary-clean-text.ts";
import type { Representation } from "./summary-message.ts";

/**
 * Edits that fold everything but the user's last request and the newest step behind it into a mechanical summary;
 * what is carried word for word gives way until it fits. Empty when there is nothing to fold.
 */
export function foldOld(transcript: Transcript, request: FoldOldRequest): readonly Edit[] {
  const { limitTokens, estimate = {}, representation, pins, redaction } = request;
  const plan = planCompaction({
    transcript,
    trigger: "context_limit_recovery",
    representation: representation ?? "pivot",
    // As little as can be kept: the newest message, and the request it answers.
    tailTokens: 1,
    limits: { contextTokens: limitTokens, outputTokens: 0 },
    // Nobody is asked, so nothing has to be cut to fit a request.
    summarizer: { windowTokens: Number.MAX_SAFE_INTEGER },
    autoContinue: "never",
    estimate: { estimator: "calibrated", ...estimate },
    ...(pins && { pins }),
    ...(redaction && { redaction }),
  });
  if (plan.status === "nothing") return [];
  const window = filterCompacted(transcript);
  const requestId = window[findLastRequest(window)]?.id;
  // A request without words, such as a lone picture, cannot be carried in a summary.
  if (requestId !== undefined && !plan.keptIds.includes(requestId)) return [];
  const maxTokens = Math.min(plan.material.maxSummaryTokens, Math.floor(limitTokens * SUMMARY_SHARE));
  const prose = foldSummary(plan.foldMaterial, { maxTokens, estimator: estimate.estimator ?? "calibrated" });
  let edits: readonly Edit[] = [];
  for (const factsShare of FACTS_SHARES) {
    edits = compactionEdits(plan, { prose, degraded: true, factsShare, continuation: "suppressed" });
    if (estimateEdited(transcript, edits, estimate).high <= limitTokens) break;
  }
  return edits;
}

/** What a fold keeps to, as in any other compaction of the session. */
export interface FoldRequest {
  readonly representation?: Representation;
  readonly pins?: readonly Pin[];
  readonly redaction?: Redaction;
}

export interface FoldOldRequest extends FoldRequest {
  readonly limitTokens: number;
  readonly estimate?: ContextEstimateOptions;
}

/** How much of the limit the mechanical summary may take, without what is carried word for word. */
const SUMMARY_SHARE = 0.2;
