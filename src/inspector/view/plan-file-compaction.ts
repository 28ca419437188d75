import { type SettledCompaction, settleCompaction } from "../../compaction/compact.ts";
import {
  type CompactionPlan,
  type NothingToCompact,
  planCompaction,
} from "../../compaction/plan/plan-compaction.ts";
import { type FactsBudget, factsBudget } from "../../compaction/summary/facts.ts";
import { foldSummary } from "../../compaction/summary/fold-summary.ts";
import type { Representation } from "../../compaction/summary/message.ts";
import type { OverflowSettings } from "../../compaction/trigger/overflow.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../../compaction/trigger/should-compact.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import { modelFacts } from "../../models/model-facts.ts";
import { hideStaleThoughts } from "../../session/thoughts.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import { type ModelRef, project, type Transcript } from "../../transcript/message.ts";

/** Plans a compaction of a recorded session, in the representation that its own agent understands. */
export function planFileCompaction(
  { transcript, format }: RecordedFile,
  { windowTokens, keepTokens, overflow, trigger = "manual" }: FileCompactionOptions,
): CompactionPlan | NothingToCompact {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return planCompaction({
    transcript,
    trigger,
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

export interface FileCompactionOptions {
  readonly windowTokens: number;
  readonly keepTokens?: number | undefined;
  /** Most tokens of a summary without a model, not counting requests that must stay; by default a share of what it stands for. */
  readonly summaryTokens?: number | undefined;
  /** With `threshold` nothing is folded where all of it may stay. @default manual */
  readonly trigger?: "manual" | "threshold";
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

/** The edits of a compaction for the file itself: those thoughts stay that its model takes behind a summary. */
export function editsOfFile(
  edits: readonly Edit[],
  plan: CompactionPlan,
  { format, reader }: CompactedFile,
): readonly Edit[] {
  const thoughts = refusedThoughts(plan, reader);
  return withTailStart([...placedEdits(edits, plan, format), ...thoughts], plan);
}

interface CompactedFile {
  readonly format: FormatName;
  /** The model that goes on, as far as the file names it. */
  readonly reader: ModelRef | undefined;
}

/** The edits that leave out thoughts of what stays where their model would refuse them: a summary stands before them now. */
export function refusedThoughts(
  { transcript, keptIds }: CompactionPlan,
  reader: ModelRef | undefined,
): readonly Edit[] {
  const kept = new Set(keptIds);
  const refused = transcript.filter(
    ({ id, model = reader }) => kept.has(id) && modelFacts(model ?? {}).afterEdit === "refused",
  );
  return hideStaleThoughts(transcript, new Set(refused.map(({ id }) => id)));
}

/** A tail begins with a message that is still there: one of nothing but thoughts may be gone. */
function withTailStart(
  edits: readonly Edit[],
  { transcript, keptIds, firstKeptId }: CompactionPlan,
): readonly Edit[] {
  const kept = new Set(keptIds);
  const left = project(applyEdits(transcript, edits, { at: 0 })).filter(({ id }) => kept.has(id));
  const [first] = left;
  if (first === undefined || left.some(({ id }) => id === firstKeptId)) return edits;
  return edits.map((edit) => {
    const [part, ...others] = edit.type === "insert-message" ? edit.message.parts : [];
    if (edit.type !== "insert-message" || part?.type !== "compaction") return edit;
    return { ...edit, message: { ...edit.message, parts: [{ ...part, tailStartId: first.id }, ...others] } };
  });
}

/**
 * Agents with compactions of their own leave what was summed up in the file, before the boundary, where its handles find
 * it; so do these. A folded message behind the first one that stays is moved there; OpenCode orders messages by time, so
 * that there it is hidden.
 */
function placedEdits(
  edits: readonly Edit[],
  { transcript, foldedIds, firstKeptId, representation }: CompactionPlan,
  format: FormatName,
): readonly Edit[] {
  if (representation !== "pivot") return edits;
  const folded = new Set(foldedIds);
  const firstKept = transcript.findIndex(({ id }) => id === firstKeptId);
  const later = new Set(firstKept === -1 ? [] : transcript.slice(firstKept).map(({ id }) => id));
  const before = firstKept === -1 ? undefined : (transcript[firstKept - 1]?.id ?? null);
  let last = before;
  return edits.flatMap((edit): readonly Edit[] => {
    if (edit.type === "hide-message" && folded.has(edit.messageId)) {
      if (!later.has(edit.messageId)) return [];
      if (format === "opencode" || last === undefined) return [edit];
      const { messageId, stage, reason } = edit;
      const moved: Edit = { type: "move-message", messageId, after: last, stage, reason };
      last = messageId;
      return [moved];
    }
    const isPlaced = edit.type === "insert-message" || edit.type === "move-message";
    return isPlaced && edit.after === before && last !== undefined ? [{ ...edit, after: last }] : [edit];
  });
}

/** Compacts a recorded session with the summary that needs no model; `unchanged` says why there is none. */
export function compactFileWithoutModel(file: RecordedFile, options: FileCompactionOptions): FoldedFile {
  const planned = planFileCompaction(file, options);
  if (planned.status === "nothing") return { status: "unchanged", reason: planned.reason };
  const { summaryTokens = Number.POSITIVE_INFINITY } = options;
  const plan = { ...planned, factsBudget: smallerOf(planned.factsBudget, factsBudget(summaryTokens * 3)) };
  const { estimator } = plan.estimate;
  const summary = foldSummary(plan.foldMaterial, {
    maxTokens: Math.min(plan.material.maxSummaryTokens, Math.floor(summaryTokens * PROSE_SHARE)),
    ...(estimator && { estimator }),
  });
  const settled = settleCompaction(plan, { prose: summary, degraded: true, continuation: "append" }, 0);
  return settled.status === "compacted" ? { ...settled, plan, summary } : settled;
}

/** What the facts leave to the prose of a summary. */
const PROSE_SHARE = 0.4;

function smallerOf(one: FactsBudget, other: FactsBudget): FactsBudget {
  return {
    wordsChars: Math.min(one.wordsChars, other.wordsChars),
    filesChars: Math.min(one.filesChars, other.filesChars),
    anchorsChars: Math.min(one.anchorsChars, other.anchorsChars),
  };
}

type FoldedFile =
  | (Extract<SettledCompaction, { status: "compacted" }> & {
      readonly plan: CompactionPlan;
      readonly summary: string;
    })
  | { readonly status: "unchanged"; readonly reason: string };
