import { ConfigurationError } from "../text/check.ts";
import type { Edit, Stage } from "../transcript/edit.ts";
import { charsOf } from "../transcript/estimate-message.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { isRendered, renderMessage } from "../transcript/render.ts";
import { shrinkToFit } from "./shrink.ts";

/**
 * Hides the oldest messages until the rendered rest fits; a summary and the newest message stay. Where these
 * alone are too long, their texts are shortened, and as a last resort parts dropped: the budget always holds.
 */
export function charBudget(options: CharBudgetOptions): Stage {
  const { maxChars, frameChars = () => 0, render = renderMessage } = options;
  if (!(maxChars >= MIN_BUDGET_CHARS)) {
    throw new ConfigurationError([
      `the budget is ${maxChars} chars; it must be at least ${MIN_BUDGET_CHARS}`,
    ]);
  }
  return (transcript) => {
    const shown = transcript.filter(isRendered);
    const kept = newestThatFit(shown, { maxChars, frameChars, render });
    const hidden = shown.filter((message) => !kept.messages.has(message));
    const edits = hidden.map(hide);
    const roomChars = maxChars - frameChars(hidden.length);
    if (kept.chars <= roomChars) return edits;
    return [...edits, ...shrinkToFit([...kept.messages], roomChars)];
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

interface Kept {
  /** In the order of the transcript. */
  readonly messages: ReadonlySet<Message>;
  readonly chars: number;
}

/** Summaries, the newest message, and as many before it as fit. Only what may stay is ever rendered. */
function newestThatFit(
  shown: Transcript,
  { maxChars, frameChars, render }: Required<CharBudgetOptions>,
): Kept {
  const pinned = new Set(shown.filter((message, index) => message.summary || index === shown.length - 1));
  let chars = 0;
  for (const message of pinned) chars += render(message).length;

  let first = shown.length;
  let hidden = shown.length - pinned.size;
  const sizes: number[] = [];
  while (first > 0) {
    const message = shown[first - 1] as Message;
    const isPinned = pinned.has(message);
    const size = isPinned ? 0 : render(message).length;
    if (!isPinned && chars + size + frameChars(0) > maxChars) break;
    chars += size;
    sizes.push(size);
    if (!isPinned) hidden--;
    first--;
  }
  // Hiding anything costs a notice, which may cost the oldest of those that just fitted.
  while (hidden > 0 && sizes.length > 1 && chars + frameChars(hidden) > maxChars) {
    chars -= sizes.pop() ?? 0;
    if (!pinned.has(shown[first] as Message)) hidden++;
    first++;
  }
  return {
    messages: new Set(shown.filter((message, index) => index >= first || pinned.has(message))),
    chars,
  };
}

function hide(message: Message): Edit {
  return {
    type: "hide-message",
    messageId: message.id,
    stage: "char-budget",
    reason: "over-budget",
    omitted: { chars: charsOf(message), handle: message.id },
  };
}

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

/** A stage that is only asked when a transcript does not fit: where everything fits, nothing is changed. */
export function ifOverBudget(budget: Budget, stage: Stage): Stage {
  return (transcript) => (fitsBudget(transcript, budget) ? [] : stage(transcript));
}
