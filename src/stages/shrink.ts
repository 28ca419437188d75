import { safeJson } from "../text/json.ts";
import { handleOf, isCleared, outcomeText } from "../transcript/content.ts";
import { applyEdits, type Edit, type EditReason } from "../transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";

/**
 * Cuts the longest parts of some messages to one common length, the largest at which `measure` is small enough.
 * Undefined when even the least length is too much. The caller chooses the measure (rendered characters, estimated
 * tokens) and which parts may be cut.
 */
export function shrinkToFit(messages: Transcript, options: ShrinkOptions): readonly Edit[] | undefined {
  const { measure, maxSize, mostChars, leastChars = 0 } = options;
  const editsAt = (limitChars: number): readonly Edit[] => cutToLength(messages, { ...options, limitChars });
  const limitChars = largestPassing(
    (chars) => measure(applyEdits(messages, editsAt(chars), { at: 0 })) <= maxSize,
    { least: leastChars, most: mostChars },
  );
  return limitChars === undefined ? undefined : editsAt(limitChars);
}

/** What to cut, and how small the messages must become. */
interface ShrinkOptions extends Omit<CutOptions, "limitChars"> {
  /** The size of the messages, in whatever unit `maxSize` has. */
  readonly measure: (messages: Transcript) => number;
  readonly maxSize: number;
  /** The first length to try; no part is left longer. */
  readonly mostChars: number;
  /** Parts are not cut below this; 0 when unset. */
  readonly leastChars?: number;
}

/** Edits that cut every part of some messages that is longer than a limit. */
export function cutToLength(messages: Transcript, options: CutOptions): readonly Edit[] {
  const { cut, limitChars, stage, reason } = options;
  const edits: Edit[] = [];
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      const left = part.agentVisible === false ? part : cut(part, limitChars, message);
      if (left === part) continue;
      const chars = Math.max(0, charsIn(part) - (left === null ? 0 : charsIn(left)));
      const omitted = { chars, handle: handleOf(message, partIndex) };
      const where = { messageId: message.id, partIndex } as const;
      const why = { stage, reason, omitted };
      edits.push(
        left === null
          ? { type: "hide-part", ...where, what: "part", ...why }
          : { type: "replace-part", ...where, part: left, ...why },
      );
    }
  }
  return edits;
}

/** What to cut, and how its edits are labelled. */
interface CutOptions {
  /** Characters (UTF-16 units) that a part may keep. */
  readonly limitChars: number;
  readonly cut: CutPart;
  readonly stage: string;
  readonly reason: EditReason;
}

/** Cuts a part to this many characters. Gives the same part when it is short enough, null to hide it. */
type CutPart = (part: Part, limitChars: number, message: Message) => Part | null;

/** The largest whole number between `least` and `most` that passes, found by bisection; undefined when `least` does not. */
export function largestPassing(
  passes: (value: number) => boolean,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): number | undefined {
  if (passes(most)) return most;
  if (!passes(least)) return undefined;
  let good = least;
  let bad = most;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (passes(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** The characters of a part that can be cut. */
function charsIn(part: Part): number {
  if (part.type === "text" || part.type === "reasoning") return part.text.length;
  if (part.type !== "tool") return 0;
  const outputChars = isCleared(part) ? 0 : outcomeText(part.outcome).length;
  return outputChars + (part.input === undefined ? 0 : safeJson(part.input).length);
}
