import { readableJson } from "../../../stages/fill/readable-json.ts";
import type { Message, MessageId, Transcript } from "../../../transcript/message.ts";
import type { Part, ToolPart } from "../../../transcript/part.ts";
import { filePlaceholder } from "../../../transcript/render.ts";
import { shownOutcome } from "../../../transcript/visibility.ts";
import { inputText, partTexts, type TextsAs } from "./part-texts.ts";
import type { PolicyRun } from "./policy-run.ts";
import { textCuts } from "./text-cuts.ts";
import type { ItemPlace, ItemText } from "./types.ts";

/** The text of one item before and after a policy; undefined when there is no such item. */
export function itemTextOf({ source, left }: PolicyRun, place: ItemPlace): ItemText | undefined {
  const message = find(source, place.messageId);
  const part = message?.parts[place.partIndex];
  if (message === undefined || part === undefined) return undefined;
  const before = textOf(message, part, { place, as: "recorded" });
  if (before === undefined) return undefined;
  const rest = find(left, place.messageId);
  const leftPart = rest?.parts[place.partIndex];
  const isSent = rest !== undefined && leftPart !== undefined && leftPart.agentVisible !== false;
  const shown = isSent ? (textOf(rest, leftPart, { place, as: "shown" }) ?? "") : "";
  return { before, after: shown, ...textCuts(before, shown) };
}

function find(transcript: Transcript, id: MessageId): Message | undefined {
  return transcript.find((message) => message.id === id);
}

interface TextRequest {
  readonly place: ItemPlace;
  readonly as: TextsAs;
}

function textOf(message: Message, part: Part, { place, as }: TextRequest): string | undefined {
  if (place.side === "media") return mediaText(part, as);
  if (place.side === "input" && part.type === "tool") return readableInput(part, as);
  const texts = partTexts(message, part, as);
  return (texts.find(({ side }) => side === place.side) ?? texts[0])?.text ?? emptyOf(part);
}

/** Line breaks and quotes in an input as they were meant; lines that were chosen from one read so already. */
function readableInput(part: ToolPart, as: TextsAs): string {
  const text = inputText(part, as);
  return as === "shown" && part.inputCut?.method === "lines" ? text : readableJson(text);
}

/** A marker and what no format understands have no text, but they are there. */
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
