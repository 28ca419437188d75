import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";

/** Edits that were decided together: they are applied, journalled and undone as one. */
export interface EditBatch {
  readonly id: string;
  /** Which step made it, such as `prune` or `compact`. */
  readonly step: string;
  /** Why the step was taken. */
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly edits: readonly Edit[];
}

/** The transcript after a batch, or undefined when the batch speaks of messages that are gone. */
export function applyBatch(transcript: Transcript, { edits, at }: EditBatch): Transcript | undefined {
  return isGrounded(edits, transcript) ? applyEdits(transcript, edits, { at }) : undefined;
}

/**
 * False when a batch stands for messages of which some are no longer there: the owner has taken them back, and a
 * summary of them must not stay. Hiding alone does no harm.
 */
export function isGrounded(edits: readonly Edit[], transcript: Transcript): boolean {
  if (!edits.some((edit) => edit.type === "insert-message" || edit.type === "move-message")) return true;
  const ids = new Set(transcript.map((message) => message.id));
  return edits.every((edit) => {
    const isThere = targetsOf(edit).every((id) => ids.has(id));
    if (edit.type === "insert-message") ids.add(edit.message.id);
    return isThere;
  });
}

/** The messages that an edit needs to find. */
export function targetsOf(edit: Edit): readonly MessageId[] {
  switch (edit.type) {
    case "insert-message":
      return edit.after === null ? [] : [edit.after];
    case "move-message":
      return edit.after === null ? [edit.messageId] : [edit.messageId, edit.after];
    case "hide-message":
    case "hide-part":
    case "replace-part":
      return [edit.messageId];
    default:
      edit satisfies never;
      return [];
  }
}
