import { compactionPart } from "../stages/completed-compaction.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isVisibleToModel, reachesModel } from "../transcript/visibility.ts";

/** The index of what the user asked for last, not counting what programs wrote in the user's name; -1 when there is nothing. */
export function findLastRequest(transcript: Transcript): number {
  const typed = transcript.findLastIndex((message) => isRequest(message) && message.parts.some(isTyped));
  return typed === -1 ? transcript.findLastIndex(isRequest) : typed;
}

function isRequest(message: Message): boolean {
  return (
    message.role === "user" &&
    isVisibleToModel(message) &&
    !OWN_KINDS.has(message.metadata?.kind ?? "") &&
    compactionPart(message) === undefined &&
    message.parts.some(reachesModel)
  );
}

function isTyped(part: Message["parts"][number]): boolean {
  if (part.agentVisible === false) return false;
  if (part.type === "file") return true;
  return part.type === "text" && !part.synthetic && !part.ignored && !part.own && part.text.trim() !== "";
}

/** Kinds of user messages that no user wrote. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  "tool_summary",
  "compaction_summary",
  "compaction_marker",
  "continue",
  "hint",
]);
