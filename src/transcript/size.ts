import { safeJson } from "../text/safe-json.ts";
import type { Message } from "./message.ts";
import { CLEARED_PLACEHOLDER, outcomeText, type Part } from "./part.ts";
import { isCleared } from "./tool-results.ts";
import { isVisibleToModel } from "./visibility.ts";

/** The characters that a message brings into a window: its texts, inputs and results, without labels. */
export function charsOf(message: Message): number {
  if (!isVisibleToModel(message)) return 0;
  let chars = 0;
  for (const part of message.parts) chars += charsOfPart(part);
  return chars;
}

/** The characters that one part brings into a window. */
export function charsOfPart(part: Part): number {
  if (part.agentVisible === false) return 0;
  if (part.type === "text") return part.ignored ? 0 : part.text.length;
  if (part.type !== "tool") return 0;
  const inputChars = part.input === undefined ? 0 : safeJson(part.input).length;
  const { outcome } = part;
  if (outcome.status === "pending") return inputChars;
  if (isCleared(part)) return inputChars + CLEARED_PLACEHOLDER.length;
  return inputChars + outcomeText(outcome).length;
}
