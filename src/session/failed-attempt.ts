import type { Edit } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { charsOf } from "../transcript/size.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";

/** Hides what a failed attempt left at the end of the window. What a tool has done there stays: it must not be done twice. */
export function hideFailedAttempt(window: Transcript): readonly Edit[] {
  const edits: Edit[] = [];
  for (const message of window.toReversed()) {
    if (!isVisibleToModel(message)) continue;
    if (!isBroken(message)) break;
    if (message.parts.some((part) => part.type === "tool" && part.outcome.status !== "pending")) break;
    edits.push({
      type: "hide-message",
      messageId: message.id,
      stage: "recover-failed-attempt",
      reason: "failed-turn",
      omitted: { chars: charsOf(message), handle: message.id },
    });
  }
  return edits.reverse();
}

function isBroken({ role, error, unfinished, summary }: Message): boolean {
  return role === "assistant" && summary !== true && (error !== undefined || unfinished === true);
}
