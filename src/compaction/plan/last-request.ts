import { normalizeTypedText } from "../../text/normalize.ts";
import {
  isBareMarker,
  isSummary,
  isVisibleToModel,
  type Message,
  reachesModel,
  type Transcript,
  typedText,
} from "../../transcript/message.ts";

/** The index of the newest message that the user typed; -1 when there is none. */
export function lastRequestIndex(conversation: Transcript): number {
  return conversation.findLastIndex((message) => typedText(message) !== "");
}

/** True when the newest message is the user's and nobody has answered it. */
export function isUnanswered(conversation: Transcript): boolean {
  const newest = conversation.findLast(
    (message) =>
      message.role !== "assistant" || (message.error === undefined && message.parts.some(reachesModel)),
  );
  return newest !== undefined && newest === conversation[lastRequestIndex(conversation)];
}

/** True when the agent had finished, so that a "continue" would start it again. */
export function isFinished(conversation: Transcript): boolean {
  const newest = conversation.findLast((message) => message.metadata?.kind !== "continue");
  if (newest === undefined) return true;
  if (newest.role !== "assistant" || newest.error !== undefined || newest.unfinished) return false;
  const said = newest.parts.filter(
    (part) => reachesModel(part) && (part.type === "text" || part.type === "tool"),
  );
  if (newest.finish !== undefined) return ENDS.has(newest.finish) && said.at(-1)?.type !== "tool";
  return said.every((part) => part.type === "text");
}

/** How providers say that an answer was complete. */
const ENDS: ReadonlySet<string> = new Set(["stop", "end_turn", "end-turn", "completed", "stop_sequence"]);

/** The index of the user's last request, or of the last message in the user's role when nothing was typed; -1 without any. */
export function findLastRequest(transcript: Transcript): number {
  const typed = transcript.findLastIndex(
    (message) => isVisibleToModel(message) && normalizeTypedText(typedText(message)).trim() !== "",
  );
  return typed === -1 ? transcript.findLastIndex(isInUsersRole) : typed;
}

function isInUsersRole(message: Message): boolean {
  return (
    message.role === "user" &&
    isVisibleToModel(message) &&
    !isBareMarker(message) &&
    !isSummary(message) &&
    message.parts.some(reachesModel)
  );
}
