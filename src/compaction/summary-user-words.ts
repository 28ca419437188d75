import type { CarriedWords } from "../transcript/carried-facts.ts";
import type { Handle } from "../transcript/edit.ts";
import { cutCodePoints } from "./summary-cut-code-points.ts";
import type { Piece } from "./summary-pieces.ts";

/** What the user wrote, message by message, from the carried words and the pieces that are folded now. */
export function collectUserWords(
  carried: readonly CarriedWords[],
  pieces: readonly Piece[],
  firstHandle: Handle | undefined,
): readonly CarriedWords[] {
  const words = new Map<Handle, CarriedWords>(carried.map((each) => [each.handle, each]));
  const hasFirst = carried.some((each) => each.first);
  for (const { type, message, text } of pieces) {
    if (type !== "typed") continue;
    const before = words.get(message.id);
    const isFirst = before?.first ?? (!hasFirst && message.id === firstHandle);
    words.set(message.id, {
      handle: message.id,
      text: before === undefined ? text : `${before.text}\n${text}`,
      ...(isFirst && { first: true as const }),
    });
  }
  return [...words.values()];
}

/**
 * The words that fit: the first request always, then what must be there, then the newest. Each stays whole;
 * only a first request of more than `FIRST_REQUEST_POINTS` is cut.
 */
export function selectUserWords(words: readonly CarriedWords[], options: WordsBudget): SelectedWords {
  const chosen = new Set<CarriedWords>();
  let leftChars = options.maxChars;
  const take = (each: CarriedWords): void => {
    chosen.add(each);
    leftChars -= each.text.length;
  };
  const fitted = words.map((each) =>
    each.first && each.handle !== options.mustHandle
      ? { ...each, text: cutCodePoints(each.text, FIRST_REQUEST_POINTS) }
      : each,
  );
  for (const each of fitted) if (each.first || each.handle === options.mustHandle) take(each);
  for (const each of fitted.toReversed()) {
    if (!chosen.has(each) && each.text.length <= leftChars) take(each);
  }
  const kept = fitted.filter((each) => chosen.has(each));
  return { words: kept, omittedMessages: words.length - kept.length };
}

export interface WordsBudget {
  readonly maxChars: number;
  /** The message whose words stay whatever they cost: the request that is being worked on. */
  readonly mustHandle?: Handle;
}

export interface SelectedWords {
  readonly words: readonly CarriedWords[];
  readonly omittedMessages: number;
}

/** How long the first request may be before its middle is left out, in code points. */
export const FIRST_REQUEST_POINTS = 8_000;
