import { ConfigurationError } from "../text/configuration-error.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import type { Message } from "../transcript/message.ts";
import { renderMessage } from "../transcript/render.ts";
import { shrinkToFit } from "./shrink-to-fit.ts";

/**
 * Hides the oldest messages until the rendered rest fits; a summary and the newest message stay. Where these
 * alone are too long, their texts are shortened, and as a last resort parts dropped: the budget always holds.
 */
export function charBudget({
  maxChars,
  frameChars = () => 0,
  render = renderMessage,
}: CharBudgetOptions): Stage {
  if (!(maxChars >= MIN_BUDGET_CHARS)) {
    throw new ConfigurationError([
      `the budget is ${maxChars} chars; it must be at least ${MIN_BUDGET_CHARS}`,
    ]);
  }
  return (transcript) => {
    const sizes = transcript.map((message) => render(message).length);
    let totalChars = sizes.reduce((sum, chars) => sum + chars, 0);
    const newest = sizes.findLastIndex((chars) => chars > 0);

    const edits: Edit[] = [];
    const kept: Message[] = [];
    transcript.forEach((message, index) => {
      const chars = sizes[index] ?? 0;
      if (chars === 0) return;
      if (message.summary || index === newest || totalChars + frameChars(edits.length) <= maxChars) {
        kept.push(message);
        return;
      }
      totalChars -= chars;
      edits.push({
        type: "hide-message",
        messageId: message.id,
        stage: "char-budget",
        reason: "over-budget",
        omitted: { chars, handle: message.id },
      });
    });

    const roomChars = maxChars - frameChars(edits.length);
    return totalChars <= roomChars ? edits : [...edits, ...shrinkToFit(kept, roomChars)];
  };
}

export interface CharBudgetOptions {
  /** Most characters (UTF-16 units) of the rendered messages and their frame together; at least 512. */
  readonly maxChars: number;
  /** Characters of what is written around the messages when this many were hidden. */
  readonly frameChars?: (hiddenMessages: number) => number;
  /** How a message becomes text, if it was rendered before and need not be again. */
  readonly render?: (message: Message) => string;
}

/** Less than this could not hold the frame and a notice. */
const MIN_BUDGET_CHARS = 512;
