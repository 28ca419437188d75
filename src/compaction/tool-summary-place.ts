import type { Place } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isVisibleToModel } from "../transcript/visibility.ts";

/** Where the next summary goes: behind the newest calls with their results and the summaries there, so never behind a user who waits. */
export function summaryPlace(window: Transcript): Place {
  let index = window.findLastIndex((message) => isVisibleToModel(message) && holdsTurn(message));
  for (let next = window[index + 1]; next !== undefined && isToolSummary(next); next = window[index + 1])
    index++;
  return window[index]?.id ?? null;
}

/** True for a message that sums up tool results and that the model can see. */
export function isToolSummary(message: Message): boolean {
  return message.metadata?.kind === "tool_summary" && isVisibleToModel(message);
}

function holdsTurn(message: Message): boolean {
  return message.role === "assistant" || message.parts.some((part) => part.type === "tool");
}
