import { DEFAULT_COMPACTION_SETTINGS } from "../../compaction/compaction-settings.ts";
import { planCompaction } from "../../compaction/plan-compaction.ts";
import type { CompactionPlan, NothingToCompact } from "../../compaction/plan-compaction-types.ts";
import type { Representation } from "../../compaction/summary-message.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import type { Transcript } from "../../transcript/message.ts";

export interface PlannedFile {
  readonly transcript: Transcript;
  readonly format: FormatName;
}

export interface PlanOptions {
  readonly windowTokens: number;
  readonly keepTokens: number | undefined;
}

/** A compaction of a file that a person asks for, in the way that the file's own agent understands. */
export function planFor(
  { transcript, format }: PlannedFile,
  { windowTokens, keepTokens }: PlanOptions,
): CompactionPlan | NothingToCompact {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return planCompaction({
    transcript,
    trigger: "manual",
    representation: REPRESENTATIONS[format] ?? "user-summary",
    limits: { contextTokens: windowTokens, outputTokens: 0 },
    estimate: { estimator: "calibrated", ...(model && { model }) },
    ...(keepTokens !== undefined && {
      tailTokens: keepTokens,
      settings: { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: keepTokens },
    }),
  });
}

/** These files have compactions of their own; in the others a summary is a message of the user. */
const REPRESENTATIONS: Readonly<Partial<Record<FormatName, Representation>>> = {
  opencode: "pivot",
  "claude-code": "pivot",
  codex: "pivot",
  pi: "pivot",
};
