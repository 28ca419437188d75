import { safeJson } from "../../../../text/safe-json.ts";
import type { Message } from "../../../../transcript/message.ts";
import type { Part } from "../../../../transcript/part.ts";
import type { ItemRow } from "../../view/types.ts";

/** What an item is, in a bold word and the beginning of what it says. */
export interface ItemLabel {
  readonly what: string;
  readonly detail: string;
}

/** The label of an item; its text is read only as far as a line shows it. */
export function itemLabel(message: Message | undefined, item: ItemRow): ItemLabel {
  const part = message?.parts[item.partIndex];
  const detail = item.path ?? oneLine(part === undefined ? "" : excerptOf(part, item));
  return { what: whatOf(item), detail };
}

function whatOf({ kind, tool, failed, side }: ItemRow): string {
  if (tool === undefined) return kind;
  if (side === "input") return `${tool} call`;
  return failed ? `${tool} failed` : tool;
}

function excerptOf(part: Part, { side }: ItemRow): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.slice(0, EXCERPT_CHARS);
    case "tool":
      if (side === "input") return inputExcerpt(part.input);
      if (part.outcome.status === "pending") return "still running";
      return (part.outcome.status === "done" ? part.outcome.output : part.outcome.error).slice(
        0,
        EXCERPT_CHARS,
      );
    case "file":
      return part.filename ?? part.mime;
    case "compaction":
      return `${part.trigger} compaction`;
    case "opaque":
      return part.name;
  }
}

/** The values of a call's input, without the names: they tell calls of one tool apart. */
function inputExcerpt(input: unknown): string {
  if (typeof input === "string") return input.slice(0, EXCERPT_CHARS);
  if (typeof input !== "object" || input === null) return safeJson(input).slice(0, EXCERPT_CHARS);
  const words: string[] = [];
  let chars = 0;
  for (const value of Object.values(input)) {
    if (chars > EXCERPT_CHARS) break;
    const word =
      typeof value === "string"
        ? value.slice(0, EXCERPT_CHARS)
        : typeof value === "number"
          ? String(value)
          : "";
    if (word === "") continue;
    words.push(word);
    chars += word.length;
  }
  return words.join(" · ");
}

function oneLine(text: string): string {
  return text.slice(0, EXCERPT_CHARS).replace(/\s+/g, " ").trim();
}

const EXCERPT_CHARS = 160;
