import { callback, limitFrom, readOptions, required, type Shape, withDefault } from "../text/check.ts";
import { commonLimit } from "../text/clip.ts";
import {
  handleOf,
  isCleared,
  isRendered,
  leastChars,
  outcomeText,
  renderMessage,
} from "../transcript/content.ts";
import { applyEdits, type Edit, hideMessage, type Stage } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { cutOutputOrText } from "./cut-part.ts";
import { cutToLength, shrinkToFit } from "./shrink.ts";

/**
 * Hides the oldest messages until the rendered rest fits; summaries and the newest message stay. Where these alone
 * are too long their texts are shortened, and as a last resort parts are hidden, so the budget always holds.
 */
export function charBudget(options: CharBudgetOptions): Stage {
  const budget = readOptions(BUDGET_SHAPE, options);
  return (transcript) => {
    const { edits, kept, chars } = hideOldest(transcript, budget);
    const roomChars = budget.maxChars - budget.frameChars(edits.length);
    return chars <= roomChars ? edits : [...edits, ...shrinkToChars(kept, roomChars)];
  };
}

/** A budget in characters, and how messages are rendered for it. */
export interface CharBudgetOptions {
  /** Most characters (UTF-16 units) of the rendered messages and their frame together; at least 512. */
  readonly maxChars: number;
  /** Characters of what is written around the messages when this many were hidden. @default none */
  readonly frameChars?: (hiddenMessages: number) => number;
  /** Renders a message; pass a caching renderer to render each message once. @default renderMessage */
  readonly render?: (message: Message) => string;
}

const BUDGET_SHAPE: Shape<CharBudgetOptions, "frameChars" | "render"> = {
  // Less cannot hold the frame and a notice.
  maxChars: required(limitFrom(512)),
  frameChars: withDefault(callback, () => 0),
  render: withDefault(callback, renderMessage),
};

/**
 * The first half of `charBudget`: hides the oldest messages. Summaries, the newest message and as many messages
 * before it as fit stay; they may still be too long. Messages that cannot stay are not rendered.
 */
export function hideOldest(
  transcript: Transcript,
  { maxChars, frameChars, render }: Required<CharBudgetOptions>,
): HiddenOldest {
  const shown = transcript.filter(isRendered);
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
  // A hidden message adds a notice to the frame, which may push out the oldest kept message.
  while (hidden > 0 && sizes.length > 1 && chars + frameChars(hidden) > maxChars) {
    chars -= sizes.pop() ?? 0;
    if (!pinned.has(shown[first] as Message)) hidden++;
    first++;
  }
  return {
    edits: shown
      .slice(0, first)
      .filter((message) => !pinned.has(message))
      .map((message) => hideMessage(message, { stage: BUDGET_STAGE, reason: "over-budget" })),
    kept: shown.filter((message, index) => index >= first || pinned.has(message)),
    chars,
  };
}

interface HiddenOldest {
  readonly edits: readonly Edit[];
  /** The messages that are left and have something to show. */
  readonly kept: Transcript;
  /** Their rendered characters, without the frame. */
  readonly chars: number;
}

const BUDGET_STAGE = "char-budget";

/**
 * Edits that bring the rendered messages down to a number of characters: the longest texts are cut to one length
 * that fits; where labels and calls alone are too long, parts are hidden, oldest first.
 */
export function shrinkToChars(messages: Transcript, maxChars: number): readonly Edit[] {
  const cutting = { cut: cutOutputOrText, stage: BUDGET_STAGE, reason: "oversize" } as const;
  const lengths = messages.flatMap(({ parts }) => parts.map(renderedTextChars));
  const textChars = lengths.reduce((sum, chars) => sum + chars, 0);
  const roomChars = maxChars - (renderedChars(messages) - textChars);
  const shrunk = shrinkToFit(messages, {
    ...cutting,
    measure: renderedChars,
    maxSize: maxChars,
    mostChars: Math.max(0, Math.floor(commonLimit(lengths, roomChars)) - MARKER_CHARS),
  });
  if (shrunk !== undefined) return shrunk;
  const cuts = cutToLength(messages, { ...cutting, limitChars: 0 });
  return [...cuts, ...dropParts(applyEdits(messages, cuts, { at: 0 }), maxChars)];
}

/** Room for the truncation marker. */
const MARKER_CHARS = 48;

function renderedTextChars(part: Part): number {
  if (part.agentVisible === false) return 0;
  if (part.type === "text") return part.ignored || part.own ? 0 : part.text.length;
  return part.type !== "tool" || isCleared(part) ? 0 : outcomeText(part.outcome).length;
}

function renderedChars(messages: Transcript): number {
  return messages.reduce((sum, message) => sum + renderMessage(message).length, 0);
}

function dropParts(messages: Transcript, maxChars: number): readonly Edit[] {
  let excessChars = renderedChars(messages) - maxChars;
  const edits: Edit[] = [];
  for (const message of messages) {
    const sizes = message.parts.map((part) => renderMessage({ ...message, parts: [part] }).length);
    let shownParts = sizes.filter((chars) => chars > 0).length;
    const labelChars = renderMessage({ ...message, parts: [{ type: "text", text: "." }] }).length - 1;
    // A signed call can only be hidden after the calls that need its signature.
    const isSigned = (index: number): boolean => {
      const part = message.parts[index];
      return part?.type === "tool" && part.signed === true;
    };
    const inOrder = [...sizes.entries()].toSorted(([one], [other]) => +isSigned(one) - +isSigned(other));
    for (const [partIndex, chars] of inOrder) {
      if (excessChars <= 0) return edits;
      if (chars === 0) continue;
      // The message label is removed with its last part; every other part takes a line break.
      excessChars -= shownParts === 1 ? chars : chars - labelChars + 1;
      shownParts--;
      edits.push({
        type: "hide-part",
        messageId: message.id,
        partIndex,
        what: "part",
        stage: BUDGET_STAGE,
        reason: "oversize",
        omitted: { chars, handle: handleOf(message, partIndex) },
      });
    }
  }
  return edits;
}

/**
 * True when all messages and the frame fit. Stops rendering as soon as they do not; a cheap lower bound comes first.
 */
export function fitsBudget(messages: Transcript, options: FitOptions): boolean {
  const { maxChars, frameChars = () => 0, render = renderMessage } = options;
  const atLeast = options.leastChars ?? (options.render === undefined ? leastChars : () => 0);
  let least = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    least += atLeast(messages[index] as Message);
    if (least > maxChars) return false;
  }
  let chars = frameChars(0);
  for (let index = messages.length - 1; index >= 0; index--) {
    chars += render(messages[index] as Message).length;
    if (chars > maxChars) return false;
  }
  return true;
}

/** A budget with a lower bound of what `render` gives; for `renderMessage` it is known. */
export interface FitOptions extends CharBudgetOptions {
  readonly leastChars?: (message: Message) => number;
}
