import type { Message, Transcript } from "../../transcript/message.ts";
import { renderMessage } from "../../transcript/render.ts";

export interface Budget {
  /** Most characters (UTF-16 units) of the rendered messages and their frame together. */
  readonly maxChars: number;
  /** Characters of what is written around the messages when this many were hidden. */
  readonly frameChars?: (hiddenMessages: number) => number;
  /** How a message becomes text, if it was rendered before and need not be again. */
  readonly render?: (message: Message) => string;
}

/** True when all messages and their frame fit; no more is rendered than it takes to know. */
export function fitsBudget(
  messages: Transcript,
  { maxChars, frameChars = () => 0, render = renderMessage }: Budget,
): boolean {
  let chars = frameChars(0);
  for (let index = messages.length - 1; index >= 0; index--) {
    chars += render(messages[index] as Message).length;
    if (chars > maxChars) return false;
  }
  return true;
}
