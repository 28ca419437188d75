import type { Message, Transcript } from "../transcript/message.ts";
import { reachesModel } from "../transcript/visibility.ts";
import { isBareMarker } from "./plan-compaction-window.ts";
import { isSummary } from "./summary-previous.ts";

/** What the user typed in a message, word for word; empty for whatever a program wrote in the user's name. */
export function typedText(message: Message): string {
  if (message.role !== "user" || isSummary(message) || isBareMarker(message)) return "";
  if (PROGRAM_KINDS.has(message.metadata?.kind ?? "")) return "";
  return message.parts
    .flatMap((part) =>
      part.type === "text" && reachesModel(part) && !part.synthetic && !part.own ? [part.text] : [],
    )
    .filter((text) => text.trim() !== "")
    .join("\n");
}

const PROGRAM_KINDS: ReadonlySet<string> = new Set([
  "tool_result",
  "tool_result_archived",
  "tool_summary",
  "compaction_marker",
  "continue",
  "hint",
]);

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

/** True when the agent had come to its end: telling it to go on would start it again. */
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
