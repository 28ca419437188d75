import { createPinGuard, type Pin } from "../compaction/pins.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Message, MessageId } from "../transcript/message.ts";

/** The edits without those that would take something pinned from the model. */
export function sparePins(
  edits: readonly Edit[],
  pins: readonly Pin[],
  find: (id: MessageId) => Message | undefined,
): readonly Edit[] {
  if (pins.length === 0) return edits;
  const isPinned = createPinGuard(pins);
  return edits.filter((edit) => {
    if (edit.type === "insert-message" || edit.type === "move-message") return true;
    const message = find(edit.messageId);
    if (message === undefined) return true;
    if (edit.type === "hide-message") return !message.parts.some((_, index) => isPinned(message, index));
    return !isPinned(message, edit.partIndex);
  });
}
