import type { Edit, EditReason, Stage } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { charsOf } from "../transcript/size.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";
import { findCompletedCompaction } from "./completed-compaction.ts";

/**
 * Hides what the newest completed compaction has summed up. The summary comes first, then the tail that the
 * host kept word for word, then everything newer. With `from: "marker"` the marker stays in front, as a host sends it.
 */
export function compactionBoundary({ from }: { readonly from: "summary" | "marker" }): Stage {
  return (transcript) => {
    const found = findCompletedCompaction(transcript);
    if (found === undefined) return [];
    const { markerIndex, summaryIndex, tailStartIndex } = found;
    const firstKept = from === "marker" ? markerIndex : summaryIndex;
    const tailFrom = tailStartIndex === -1 ? markerIndex : tailStartIndex;

    const edits: Edit[] = [];
    transcript.forEach((message, index) => {
      const isTail = index >= tailFrom && index < markerIndex;
      if (index < firstKept && !isTail && isVisibleToModel(message))
        edits.push(hide(message, "before-compaction"));
    });
    if (tailFrom < markerIndex) {
      let after = transcript[tailFrom - 1]?.id ?? null;
      for (const message of transcript.slice(firstKept, summaryIndex + 1)) {
        edits.push({
          type: "move-message",
          messageId: message.id,
          after,
          stage: STAGE,
          reason: "retained-tail",
        });
        after = message.id;
      }
    }
    return edits;
  };
}

/** The index of the summary from which a fork inherits, or -1 when there was no completed compaction. */
export function findCompactionBoundary(messages: Transcript): number {
  return findCompletedCompaction(messages)?.summaryIndex ?? -1;
}

const STAGE = "compaction-boundary";

function hide(message: Message, reason: EditReason): Edit {
  const omitted = { chars: charsOf(message), handle: message.id };
  return { type: "hide-message", messageId: message.id, stage: STAGE, reason, omitted };
}
