import type { CompactionPlan } from "../../compaction/plan/plan-compaction.ts";
import type { FormatName } from "../../formats/registry.ts";
import { modelFacts } from "../../models/model-facts.ts";
import { hideStaleThoughts } from "../../session/thoughts.ts";
import { applyEdits, type Edit } from "../../transcript/edit.ts";
import { type ModelRef, project } from "../../transcript/message.ts";

/** Adapts the edits of a compaction to the session file: thoughts that the model accepts after a summary stay. */
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
  /** The model that continues the session, when the file names it. */
  readonly reader: ModelRef | undefined;
}

/** Hides kept thoughts that their model would refuse, because a summary now stands before them. */
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

/** The tail must begin with a message that still exists; one with nothing but thoughts may be gone. */
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
 * Agents with their own compactions keep summarized messages in the file, before the boundary, where handles find
 * them. This does the same. A summarized message after the first kept one is moved there; in OpenCode, which orders
 * messages by time, it is hidden.
 */
function placedEdits(
  edits: readonly Edit[],
  { transcript, replacedIds, firstKeptId, representation }: CompactionPlan,
  format: FormatName,
): readonly Edit[] {
  if (representation !== "pivot") return edits;
  const compacted = new Set(replacedIds);
  const firstKept = transcript.findIndex(({ id }) => id === firstKeptId);
  const later = new Set(firstKept === -1 ? [] : transcript.slice(firstKept).map(({ id }) => id));
  const before = firstKept === -1 ? undefined : (transcript[firstKept - 1]?.id ?? null);
  let last = before;
  return edits.flatMap((edit): readonly Edit[] => {
    if (edit.type === "hide-message" && compacted.has(edit.messageId)) {
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
