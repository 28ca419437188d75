import { type SettledCompaction, settleCompaction } from "../../compaction/compact.ts";
import {
  type CompactionPlan,
  type NothingToCompact,
  planCompaction,
} from "../../compaction/plan/plan-compaction.ts";
import { foldSummary, type Representation } from "../../compaction/summary/message.ts";
import type { OverflowSettings } from "../../compaction/trigger/overflow.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../../compaction/trigger/should-compact.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import type { Transcript } from "../../transcript/message.ts";

/** Plans a manual compaction of a recorded session, in the representation that its own agent understands. */
export function planFileCompaction(
  { transcript, format }: RecordedFile,
  { windowTokens, keepTokens, overflow }: FileCompactionOptions,
): CompactionPlan | NothingToCompact {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return planCompaction({
    transcript,
    trigger: "manual",
    representation: REPRESENTATIONS[format] ?? "user-summary",
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

interface FileCompactionOptions {
  readonly windowTokens: number;
  readonly keepTokens?: number | undefined;
  /** How the reserve for an answer is counted. */
  readonly overflow?: Partial<OverflowSettings>;
}

/** These agents write compactions of their own; for the others the summary is a user message. */
const REPRESENTATIONS: Readonly<Partial<Record<FormatName, Representation>>> = {
  opencode: "pivot",
  "claude-code": "pivot",
  codex: "pivot",
  pi: "pivot",
};

/** Compacts a recorded session with the summary that needs no model; `unchanged` says why there is none. */
export function compactFileWithoutModel(file: RecordedFile, options: FileCompactionOptions): FoldedFile {
  const plan = planFileCompaction(file, options);
  if (plan.status === "nothing") return { status: "unchanged", reason: plan.reason };
  const { estimator } = plan.estimate;
  const summary = foldSummary(plan.foldMaterial, {
    maxTokens: plan.material.maxSummaryTokens,
    ...(estimator && { estimator }),
  });
  const settled = settleCompaction(plan, { prose: summary, degraded: true, continuation: "append" }, 0);
  return settled.status === "compacted" ? { ...settled, plan, summary } : settled;
}

type FoldedFile =
  | (Extract<SettledCompaction, { status: "compacted" }> & {
      readonly plan: CompactionPlan;
      readonly summary: string;
    })
  | { readonly status: "unchanged"; readonly reason: string };
