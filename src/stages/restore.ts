import { handleOf } from "../transcript/content.ts";
import type { Edit, Handle } from "../transcript/edit.ts";
import type { MessageId, Transcript } from "../transcript/message.ts";
import type { CallId } from "../transcript/part.ts";

/**
 * Edits that show cleared outputs to the model again, named by handle, by call or by message. A name without a
 * cleared output gives no edit; an output of which only the placeholder was stored cannot come back.
 */
export function restore(
  messages: Transcript,
  names: readonly (Handle | CallId | MessageId)[],
): readonly Edit[] {
  const wanted = new Set(names);
  const edits: Edit[] = [];
  for (const message of messages) {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type !== "tool" || part.clearedAt === undefined) continue;
      const isNamed =
        wanted.has(message.id) || wanted.has(part.callId) || wanted.has(handleOf(message, partIndex));
      if (!isNamed) continue;
      const { clearedAt: _, ...restored } = part;
      edits.push({
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: restored,
        stage: "restore",
        reason: "restored",
      });
    }
  }
  return edits;
}
