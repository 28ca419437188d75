import type { Edit } from "../transcript/edit.ts";
import type { MessageId } from "../transcript/message.ts";
import { type ToolPart, withText } from "../transcript/part.ts";
import { handleOf, type ToolResult } from "../transcript/tool-results.ts";
import { oneLine, quoteName } from "./tool-summary-text.ts";

/** Leaves one line of a result in the model's view, which points to the summary; the call stays, and the whole can be recalled. */
export function archiveResult({ message, partIndex, part, text }: ToolResult, archivedAs: MessageId): Edit {
  const handle = handleOf(message, partIndex);
  const originalChars = part.cut?.originalChars ?? text.length;
  const outcome = withText(part.outcome, stub(part, handle));
  return {
    type: "replace-part",
    messageId: message.id,
    partIndex,
    part: {
      ...part,
      outcome: outcome.status === "done" ? { ...outcome, attachments: [] } : outcome,
      cut: { method: "head", originalChars, omittedChars: originalChars, limitChars: 0, archivedAs },
    },
    stage: "tool-summary",
    reason: "archived",
    omitted: { chars: originalChars - (part.cut?.omittedChars ?? 0), handle },
  };
}

/** The documents' kind of a result. A result is half of a part here, so its kind is read from the part, not from a message. */
export function toolResultKind(part: ToolPart): "tool_result" | "tool_result_archived" {
  return part.cut?.archivedAs === undefined ? "tool_result" : "tool_result_archived";
}

/** True when an earlier edit left nothing of the result but a line of ours. */
export function hasOnlyStub({ cut }: ToolPart): boolean {
  return cut !== undefined && (cut.archivedAs !== undefined || cut.omittedChars >= cut.originalChars);
}

// The call id, and not the summary's own, since it stays right when summaries are merged.
function stub({ callId }: ToolPart, handle: string): string {
  return oneLine(
    `[archived: see the tool summary of call ${quoteName(callId)}; whole result: ${quoteName(handle)}]`,
  );
}
