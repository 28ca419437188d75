import { fillBudget } from "../stages/fill/fill-budget.ts";
import { applyEdits } from "../transcript/apply-edits.ts";
import type { Message } from "../transcript/message.ts";
import { renderMessage } from "../transcript/render.ts";

/** A message and how it reads whole. */
export interface Refillable {
  readonly message: Message;
  as(shape: "whole"): string;
}

export interface RefillOptions {
  /** The window is filled anew when it is longer than this. */
  readonly gatherChars: number;
  /** What it is then brought down to. */
  readonly keepChars: number;
}

/** A window that grows by whole messages, and is now and then filled with the lines most likely needed of all that was. */
export function refilled({
  gatherChars,
  keepChars,
}: RefillOptions): (history: readonly Refillable[]) => readonly string[] {
  let filled: readonly string[] = [];
  return (history) => {
    const added = history.slice(filled.length).map((message) => message.as("whole"));
    const window = [...filled, ...added];
    if (window.reduce((sum, { length }) => sum + length, 0) <= gatherChars) return window;
    filled = fillAll(history, keepChars);
    return filled;
  };
}

function fillAll(history: readonly Refillable[], maxChars: number): readonly string[] {
  const messages = history.map(({ message }) => message);
  return applyEdits(messages, fillBudget({ maxChars })(messages), { at: 0 }).map(renderMessage);
}
