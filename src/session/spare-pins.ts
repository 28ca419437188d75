import type { Pin } from "../compaction/pins.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Message, MessageId } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";

/** The edits without those that would take something pinned from the model. */
export function sparePins(
  edits: readonly Edit[],
  pins: readonly Pin[],
  find: (id: MessageId) => Message | undefined,
): readonly Edit[] {
  if (pins.length === 0) return edits;
  const handles = new Set(pins.flatMap((pin) => ("handle" in pin ? [pin.handle] : [])));
  const texts = pins.flatMap((pin) => ("text" in pin && pin.text !== "" ? [pin.text] : []));
  const holdsPin = (part: Part): boolean => texts.some((text) => textOf(part).includes(text));
  return edits.filter((edit) => {
    if (edit.type === "insert-message" || edit.type === "move-message") return true;
    const message = find(edit.messageId);
    if (handles.has(edit.messageId)) return false;
    if (edit.type === "hide-message")
      return !message?.parts.some(
        (part, index) => handles.has(`${edit.messageId}/${index}`) || holdsPin(part),
      );
    const part = message?.parts[edit.partIndex];
    return !handles.has(`${edit.messageId}/${edit.partIndex}`) && !(part !== undefined && holdsPin(part));
  });
}

function textOf(part: Part): string {
  if (part.type === "text") return part.text;
  if (part.type !== "tool" || part.outcome.status === "pending") return "";
  return part.outcome.status === "done" ? part.outcome.output : part.outcome.error;
}
