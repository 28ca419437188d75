import { readableJson } from "../../stages/lines/read-call.ts";
import { formatNumber } from "../../text/format-number.ts";
import { filePlaceholder } from "../../transcript/content.ts";
import { type Message, type MessageId, shownOutcome, type Transcript } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import { charsOfText, inputText, partTexts, type TextsAs } from "./part-texts.ts";
import type { PolicyRun } from "./policies.ts";
import { textCuts } from "./text-cuts.ts";
import type { ItemPlace, ItemText } from "./types.ts";

/** The text of one item before and after a policy; undefined when there is no such item. */
export function itemTextOf({ source, left }: PolicyRun, place: ItemPlace): ItemText | undefined {
  const message = find(source, place.messageId);
  const part = message?.parts[place.partIndex];
  if (message === undefined || part === undefined) return undefined;
  const before = sideText(message, part, { place, as: "recorded" });
  if (before === undefined) return undefined;
  const rest = find(left, place.messageId);
  const leftPart = rest?.parts[place.partIndex];
  const isSent = rest !== undefined && leftPart !== undefined && leftPart.agentVisible !== false;
  const shown = isSent ? (sideText(rest, leftPart, { place, as: "shown" }) ?? "") : "";
  const cuts = textCuts(before, shown);
  const text = partTexts(message, part, "recorded").find(({ side }) => side === place.side);
  const moreChars = text === undefined ? 0 : charsOfText(text) - text.text.length;
  // At the end, so that the positions of cuts stay valid.
  return { before: moreChars > 0 ? `${before}${notRead(moreChars)}` : before, after: shown, ...cuts };
}

function notRead(chars: number): string {
  return `\n… ${formatNumber(chars)} more characters are in the file only: they stand before its newest compaction.`;
}

function find(transcript: Transcript, id: MessageId): Message | undefined {
  return transcript.find((message) => message.id === id);
}

function sideText(
  message: Message,
  part: Part,
  { place, as }: { readonly place: ItemPlace; readonly as: TextsAs },
): string | undefined {
  if (place.side === "media") return mediaText(part, as);
  if (place.side === "input" && part.type === "tool") return readableInput(part, as);
  const texts = partTexts(message, part, as);
  return (texts.find(({ side }) => side === place.side) ?? texts[0])?.text ?? emptyOf(part);
}

/** An input without JSON's escapes; a cut made of chosen lines has none already. */
function readableInput(part: ToolPart, as: TextsAs): string {
  const text = inputText(part, as);
  return as === "shown" && part.inputCut?.method === "lines" ? text : readableJson(text);
}

/** Parts without a text of their own still have an item. */
function emptyOf(part: Part): string | undefined {
  return part.type === "compaction" || part.type === "opaque" || part.type === "text" ? "" : undefined;
}

function mediaText(part: Part, as: TextsAs): string | undefined {
  if (part.type === "text") return part.text;
  if (part.type === "file") return filePlaceholder(part);
  if (part.type !== "tool") return undefined;
  const outcome = as === "shown" ? shownOutcome(part) : part.outcome;
  return outcome.status === "done" ? outcome.attachments.map(filePlaceholder).join("\n") : "";
}
