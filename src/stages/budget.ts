import { callback, limitFrom, readOptions, required, type Shape } from "../text/check.ts";
import { commonLimit } from "../text/truncate.ts";
import { applyEdits, type Edit, hideMessage, type Stage } from "../transcript/edit.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { outcomeText, type Part } from "../transcript/part.ts";
import { isRendered, renderMessage } from "../transcript/render.ts";
import { handleOf, isCleared } from "../transcript/tool-results.ts";
import { cutOutputOrText, cutToLength, shrinkToFit } from "./shrink.ts";

/**
 * Hides the oldest messages until the rendered rest fits; summaries and the newest message stay. Where these alone
 * are too long their texts are shortened, and as a last resort parts are hidden, so the budget always holds.
 */
export function charBudget(options: CharBudgetOptions): Stage {
  const { maxChars, frameChars, render } = readOptions(SHAPE, DEFAULTS, options);
  return (transcript) => {
    const shown = transcript.filter(isRendered);
    const kept = newestThatFit(shown, { maxChars, frameChars, render });
    const hidden = shown.filter((message) => !kept.messages.has(message));
    const edits = hidden.map((message) => hideMessage(message, { stage: STAGE, reason: "over-budget" }));
    const roomChars = maxChars - frameChars(hidden.length);
    if (kept.chars <= roomChars) return edits;
    return [...edits, ...shrinkToChars([...kept.messages], roomChars)];
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

const DEFAULTS: Required<CharBudgetOptions> = {
  maxChars: Number.POSITIVE_INFINITY,
  frameChars: () => 0,
  render: renderMessage,
};

const SHAPE: Shape<CharBudgetOptions> = {
  // Less could not hold the frame and a notice.
  maxChars: required(limitFrom(512)),
  frameChars: callback,
  render: callback,
};

/** Summaries, the newest message, and as many before it as fit, in order. Messages that cannot stay are not rendered. */
function newestThatFit(shown: Transcript, { maxChars, frameChars, render }: Required<CharBudgetOptions>) {
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
  // Hiding a message adds a notice to the frame, for which the oldest kept message may have to go.
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

const STAGE = "char-budget";

/**
 * Edits that bring the rendered messages down to a number of characters: the longest texts are cut to one length
 * that fits; where labels and calls alone are too long, parts are hidden, oldest first.
 */
export function shrinkToChars(messages: Transcript, maxChars: number): readonly Edit[] {
  const cutting = { cut: cutOutputOrText, stage: STAGE, reason: "oversize" } as const;
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
    for (const [partIndex, chars] of sizes.entries()) {
      if (excessChars <= 0) return edits;
      if (chars === 0) continue;
      // The label of the message goes with its last part, a line break with each of the others.
      excessChars -= shownParts === 1 ? chars : chars - labelChars + 1;
      shownParts--;
      edits.push({
        type: "hide-part",
        messageId: message.id,
        partIndex,
        what: "part",
        stage: STAGE,
        reason: "oversize",
        omitted: { chars, handle: handleOf(message, partIndex) },
      });
    }
  }
  return edits;
}

/** True when all messages and their frame fit; stops rendering as soon as they do not. */
export function fitsBudget(
  messages: Transcript,
  { maxChars, frameChars = DEFAULTS.frameChars, render = DEFAULTS.render }: CharBudgetOptions,
): boolean {
  let chars = frameChars(0);
  for (let index = messages.length - 1; index >= 0; index--) {
    chars += render(messages[index] as Message).length;
    if (chars > maxChars) return false;
  }
  return true;
}

/** A stage that runs only when a transcript does not fit its budget. */
export function ifOverBudget(budget: CharBudgetOptions, stage: Stage): Stage {
  return (transcript) => (fitsBudget(transcript, budget) ? [] : stage(transcript));
}
