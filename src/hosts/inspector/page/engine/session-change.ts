import type { Message } from "../../../../transcript/message.ts";
import type { MessageChange } from "../../view/live.ts";
import type { InspectedSession } from "../../view/types.ts";
import type { SessionChange } from "./engine-messages.ts";

/** What turns one session into the other; messages that are the same objects are not named. */
export function sessionChange(before: InspectedSession | undefined, after: InspectedSession): SessionChange {
  const { transcript, batches, ...head } = after;
  const changes: MessageChange[] = [];
  for (const [index, message] of transcript.entries()) {
    if (before?.transcript[index] !== message) changes.push({ index, message });
  }
  return { head, count: transcript.length, changes, ...(batches && { batches }) };
}

/** The session after a change; messages that it does not name stay the same objects. */
export function changedSession(
  before: InspectedSession | undefined,
  change: SessionChange,
): InspectedSession {
  const { head, batches, count, changes } = change;
  const transcript: Message[] = before?.transcript.slice(0, count) ?? [];
  for (const { index, message } of changes) transcript[index] = message;
  return { ...head, transcript, ...(batches && { batches }) };
}
