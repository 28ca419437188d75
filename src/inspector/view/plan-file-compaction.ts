import {
  type CompactionPlan,
  type NothingToCompact,
  planCompaction,
} from "../../compaction/plan/plan-compaction.ts";
import type { Representation } from "../../compaction/summary/message.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../../compaction/trigger/should-compact.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import type { Transcript } from "../../transcript/message.ts";

interface PlannedFile {
  readonly transcript: Transcript;
  readonly format: FormatName;
}

interface PlanOptions {
  readonly windowTokens: number;
  readonly keepTokens: number | undefined;
}

/** A compaction of a file that a person asks for, in the way that the file's own agent understands. */
export function planFileCompaction(
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
