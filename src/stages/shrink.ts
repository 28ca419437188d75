import { truncate } from "../text/truncate.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Message } from "../transcript/message.ts";
import { outcomeText, type Part } from "../transcript/part.ts";
import { renderMessage } from "../transcript/render.ts";
import { cutOutcome, handleOf, isCleared } from "../transcript/tool-results.ts";

/**
 * Edits that bring the rendered messages down to a number of characters: the longest texts are cut to one length
 * that fits; where labels and calls alone are too long, parts are hidden, oldest first.
 */
export function shrinkToFit(messages: readonly Message[], maxChars: number): readonly Edit[] {
  let levelChars = startLevel(messages, maxChars);
  let stepChars = Math.max(1, levelChars >> 5);
  for (;;) {
    const shrunk = messages.map((message) => cutTexts(message, levelChars));
    if (totalOf(shrunk) <= maxChars) return replacements(messages, shrunk);
    if (levelChars === 0) return [...replacements(messages, shrunk), ...dropParts(shrunk, maxChars)];
    levelChars = Math.max(0, levelChars - stepChars);
    stepChars *= 2;
  }
}

/** The length to which texts must be cut so that all of them and what stands around them fit; escapes may ask for a little less. */
function startLevel(messages: readonly Message[], maxChars: number): number {
  const lengths = messages.flatMap((message) => message.parts.map((part) => textOf(part)?.length ?? 0));
  lengths.sort((a, b) => a - b);
  const textChars = lengths.reduce((sum, length) => sum + length, 0);
  let roomChars = maxChars - (totalOf(messages) - textChars);
  for (const [index, length] of lengths.entries()) {
    const share = Math.floor(roomChars / (lengths.length - index));
    if (length > share) return Math.max(0, share - MARKER_ROOM_CHARS);
    roomChars -= length;
  }
  return Math.max(0, roomChars);
}

/** What a truncation marker takes beside the kept text. */
const MARKER_ROOM_CHARS = 48;

function cutTexts(message: Message, limitChars: number): Message {
  const parts = message.parts.map((part) => cutText(part, limitChars));
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
}

function cutText(part: Part, limitChars: number): Part {
  const text = textOf(part);
  if (text === undefined || text.length <= limitChars) return part;
  if (part.type === "tool") return cutOutcome(part, { limitChars, method: "head-tail" });
  const { text: kept, cut } = truncate(text, { limitChars, method: "head-tail" });
  return cut === undefined || part.type !== "text" ? part : { ...part, text: kept, cut };
}

function textOf(part: Part): string | undefined {
  if (part.agentVisible === false) return undefined;
  if (part.type === "text") return part.ignored || part.own ? undefined : part.text;
  if (part.type !== "tool" || isCleared(part)) return undefined;
  return outcomeText(part.outcome);
}

function replacements(before: readonly Message[], after: readonly Message[]): readonly Edit[] {
  return before.flatMap((message, index) =>
    message.parts.flatMap((part, partIndex): Edit[] => {
      const cut = after[index]?.parts[partIndex];
      if (cut === undefined || cut === part) return [];
      const chars = (textOf(part)?.length ?? 0) - (textOf(cut)?.length ?? 0);
      return [
        {
          type: "replace-part",
          messageId: message.id,
          partIndex,
          part: cut,
          stage: "char-budget",
          reason: "oversize",
          omitted: { chars, handle: handleOf(message, partIndex) },
        },
      ];
    }),
  );
}

function dropParts(messages: readonly Message[], maxChars: number): readonly Edit[] {
  let excessChars = totalOf(messages) - maxChars;
  const edits: Edit[] = [];
  for (const message of messages) {
    const sizes = message.parts.map((part) => renderMessage({ ...message, parts: [part] }).length);
    let shownParts = sizes.filter((chars) => chars > 0).length;
    const labelChars = renderMessage({ ...message, parts: [{ type: "text", text: "." }] }).length - 1;
    for (const [partIndex, chars] of sizes.entries()) {
      if (excessChars <= 0) return edits;
      if (chars === 0) continue;
      // The label goes with the last part, a line break with each of the others.
      excessChars -= shownParts === 1 ? chars : chars - labelChars + 1;
      shownParts--;
      edits.push({
        type: "hide-part",
        messageId: message.id,
        partIndex,
        what: "part",
        stage: "char-budget",
        reason: "oversize",
        omitted: { chars, handle: handleOf(message, partIndex) },
      });
    }
  }
  return edits;
}

function totalOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + renderMessage(message).length, 0);
}
