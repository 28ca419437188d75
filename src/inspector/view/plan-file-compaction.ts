import { type SettledCompaction, settleCompaction } from "../../compaction/compact.ts";
import {
  type CompactionPlan,
  type NothingToCompact,
  planCompaction,
} from "../../compaction/plan/plan-compaction.ts";
import { type FactsBudget, factsBudget } from "../../compaction/summary/facts.ts";
import { localSummary } from "../../compaction/summary/local-summary.ts";
import type { Representation } from "../../compaction/summary/message.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../../compaction/trigger/compaction-settings.ts";
import type { OverflowSettings } from "../../compaction/trigger/overflow.ts";
import type { FormatName } from "../../formats/registry.ts";
import type { Transcript } from "../../transcript/message.ts";

/** Plans a compaction of a recorded session, in the representation that its own agent understands. */
export function planFileCompaction(
  { transcript, format }: RecordedFile,
  { windowTokens, keepTokens, overflow, trigger = "manual" }: FileCompactionOptions,
): CompactionPlan | NothingToCompact {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return planCompaction({
    transcript,
    trigger,
    representation: REPRESENTATIONS[format],
    limits: { contextTokens: windowTokens, outputTokens: 0 },
    estimate: { estimator: "calibrated", ...(model && { model }) },
    ...(overflow && { overflow }),
    ...(keepTokens !== undefined && {
      tailTokens: keepTokens,
      settings: { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: keepTokens },
    }),
  });
}

interface RecordedFile {
  readonly transcript: Transcript;
  readonly format: FormatName;
}

export interface FileCompactionOptions {
  readonly windowTokens: number;
  readonly keepTokens?: number | undefined;
  /** Most tokens of a summary without a model, not counting requests that must stay; by default a share of what it stands for. */
  readonly summaryTokens?: number | undefined;
  /** With `threshold` nothing is replaced where all of it may stay. @default manual */
  readonly trigger?: "manual" | "threshold";
  /** How the reserve for an answer is counted. */
  readonly overflow?: Partial<OverflowSettings>;
}

/** Agents that write compactions of their own know a pivot; for the others the summary is a user message. */
const REPRESENTATIONS: Readonly<Record<FormatName, Representation>> = {
  opencode: "pivot",
  opencode2: "user-summary",
  "claude-code": "pivot",
  codex: "pivot",
  pi: "pivot",
  "swe-agent": "user-summary",
  "gemini-cli": "user-summary",
  "ai-sdk": "user-summary",
  anthropic: "user-summary",
  "openai-chat": "user-summary",
  "openai-responses": "user-summary",
  gemini: "user-summary",
};

/** Compacts a recorded session with the summary that needs no model; `unchanged` says why there is none. */
export function compactFileWithoutModel(file: RecordedFile, options: FileCompactionOptions): FoldedFile {
  const planned = planFileCompaction(file, options);
  if (planned.status === "nothing") return { status: "unchanged", reason: planned.reason };
  const { summaryTokens = Number.POSITIVE_INFINITY } = options;
  const plan = { ...planned, factsBudget: smallerOf(planned.factsBudget, factsBudget(summaryTokens * 3)) };
  const { estimator } = plan.estimate;
  const summary = localSummary(plan.localSummaryMaterial, {
    maxTokens: Math.min(plan.material.maxSummaryTokens, Math.floor(summaryTokens * PROSE_SHARE)),
    ...(estimator && { estimator }),
  });
  const settled = settleCompaction(plan, { prose: summary, degraded: true, continuation: "append" }, 0);
  return settled.status === "compacted" ? { ...settled, plan, summary } : settled;
}

/** The share of prose in a summary; facts take the rest. */
const PROSE_SHARE = 0.4;

function smallerOf(one: FactsBudget, other: FactsBudget): FactsBudget {
  return {
    wordsChars: Math.min(one.wordsChars, other.wordsChars),
    filesChars: Math.min(one.filesChars, other.filesChars),
    keyFactsChars: Math.min(one.keyFactsChars, other.keyFactsChars),
  };
}

type FoldedFile =
  | (Extract<SettledCompaction, { status: "compacted" }> & {
      readonly plan: CompactionPlan;
      readonly summary: string;
    })
  | { readonly status: "unchanged"; readonly reason: string };
