import { normalizeTypedText } from "../text/typed-text.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isVisibleToModel, reachesModel } from "../transcript/visibility.ts";
import { typedText } from "./plan-compaction-requests.ts";
import { isBareMarker } from "./plan-compaction-window.ts";
import { isSummary } from "./summary-previous.ts";

/** The index of what the user asked for last; where no message was typed, of the last one in the user's role; -1 without any. */
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
