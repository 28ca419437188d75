import type { Edit } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";
import { toolResults } from "../transcript/tool-results.ts";

/** Brings outputs back that were cleared but are still stored. */
export function restorePruned(transcript: Transcript): readonly Edit[] {
  return toolResults(transcript).flatMap(({ message, partIndex, part }): Edit[] => {
    if (part.clearedAt === undefined) return [];
    const { clearedAt: _, ...restored } = part;
    return [
      {
        type: "replace-part",
        messageId: message.id,
        partIndex,
        part: restored,
        stage: "restore-pruned",
        reason: "restored",
      },
    ];
  });
}
