import type { Message, MessageMetadata, Transcript } from "./message.ts";
import { CLEARED_PLACEHOLDER, type Part, type ToolOutcome, type ToolPart, withText } from "./part.ts";

/** True unless the message was hidden from the model. */
export function isVisibleToModel(message: Message): boolean {
  return message.metadata?.agentVisible !== false;
}

/** True unless the message was hidden from the user. */
export function isVisibleToUser(message: Message): boolean {
  return message.metadata?.userVisible !== false;
}

/** The message with other visibility or kind; its metadata is its own, never shared. */
export function withMetadata(message: Message, change: MessageMetadata): Message {
  return { ...message, metadata: { ...message.metadata, ...change } };
}

/** What the model sees of a transcript: nothing hidden, cleared outputs as their placeholder. The same reference when that is everything. */
export function project(transcript: Transcript): Transcript {
  let changed = false;
  const visible: Message[] = [];
  for (const message of transcript) {
    const shown = isVisibleToModel(message) ? projectParts(message) : undefined;
    if (shown !== message) changed = true;
    if (shown !== undefined) visible.push(shown);
  }
  return changed ? visible : transcript;
}

/** True for parts that may end up on the wire. Parts that no format knows get the benefit of the doubt. */
export function reachesModel(part: Part): boolean {
  return part.agentVisible !== false && !(part.type === "text" && part.ignored);
}

/** The message without its hidden parts, or undefined when hiding left nothing for the model. */
function projectParts(message: Message): Message | undefined {
  if (!message.parts.some(needsProjection)) return message;
  const parts = message.parts.filter((part) => part.agentVisible !== false).map(showCleared);
  return parts.some(reachesModel) ? { ...message, parts } : undefined;
}

function needsProjection(part: Part): boolean {
  return part.agentVisible === false || (part.type === "tool" && part.clearedAt !== undefined);
}

function showCleared(part: Part): Part {
  if (part.type !== "tool" || part.clearedAt === undefined) return part;
  const { clearedAt: _, ...shown } = part;
  return { ...shown, outcome: shownOutcome(part) };
}

/** The outcome as the model sees it: a cleared one is its placeholder, without attachments. */
export function shownOutcome({ outcome, clearedAt }: ToolPart): ToolOutcome {
  if (clearedAt === undefined) return outcome;
  const shown = withText(outcome, CLEARED_PLACEHOLDER);
  return shown.status === "done" ? { ...shown, attachments: [] } : shown;
}
