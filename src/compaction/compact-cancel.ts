import type { Edit } from "../transcript/edit.ts";
import type { Message, MessageId } from "../transcript/message.ts";

/** What is done about a marker whose compaction did not happen: it no longer waits for one, and a failure is recorded. */
export function cancelEdits(
  { pendingMarkerId }: { readonly pendingMarkerId?: MessageId },
  reason: CancelReason,
): readonly Edit[] {
  if (pendingMarkerId === undefined) return [];
  const why = { stage: "compaction", reason: reason.name } as const;
  const hidden: Edit = { type: "hide-message", messageId: pendingMarkerId, ...why };
  if (reason.id === undefined) return [hidden];
  const record: Message = {
    id: reason.id,
    role: "assistant",
    parts: [],
    summary: true,
    finish: "error",
    error: { name: reason.name, text: reason.text ?? reason.name },
    parentId: pendingMarkerId,
    metadata: { kind: "compaction_summary", agentVisible: false },
  };
  return [hidden, { type: "insert-message", message: record, after: pendingMarkerId, ...why }];
}

export interface CancelReason {
  readonly name: string;
  readonly text?: string;
  /** The id of the failed summary that is written down; none when nothing failed. */
  readonly id?: MessageId;
}
