import { safeJson } from "../../../../text/safe-json.ts";
import type { Transcript } from "../../../../transcript/message.ts";
import type { Part } from "../../../../transcript/part.ts";
import type { InspectedSession, ItemRow, MessageRow } from "../../view/types.ts";

/** What an item is, in a bold word and the beginning of what it says. */
export interface ItemLabel {
  readonly what: string;
  readonly detail: string;
}

/** Where the words of labels come from. */
export type LabelSource = Pick<InspectedSession, "workingDirectory"> & { readonly transcript: Transcript };

/** The label of an item; its text is read only as far as a line shows it. */
export function itemLabel(
  source: LabelSource,
  { index }: Pick<MessageRow, "index">,
  item: ItemRow,
): ItemLabel {
  const part = source.transcript[index]?.parts[item.partIndex];
  const words = item.path ?? (part === undefined ? "" : excerptOf(part, item, source));
  return { what: whatOf(item), detail: oneLine(inProject(words, source)) };
}

/** The name of an item in a sentence: a file, or what its call asked for. */
export function itemName(source: LabelSource, row: Pick<MessageRow, "index">, item: ItemRow): string {
  const { what, detail } = itemLabel(source, row, item.side === "output" ? { ...item, side: "input" } : item);
  const short = shortened(detail, NAME_CHARS);
  return short === "" ? (item.tool ?? what) : `${item.tool ?? what} ${short}`;
}

/** The beginning of a text, with a sign when there is more. */
export function shortened(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars).trimEnd()}…` : text;
}

/** Who said something, as people call it. */
export function roleWord(role: string): string {
  return role === "assistant" ? "agent" : role;
}

/** A path as it is called inside the session's project. */
export function inProject(
  path: string,
  { workingDirectory }: Pick<InspectedSession, "workingDirectory">,
): string {
  return workingDirectory !== undefined && path.startsWith(`${workingDirectory}/`)
    ? path.slice(workingDirectory.length + 1)
    : path;
}

function whatOf({ kind, tool, failed, side }: ItemRow): string {
  if (tool === undefined) return kind;
  if (side === "input") return `${tool} call`;
  return failed ? `${tool} failed` : tool;
}

function excerptOf(part: Part, { side }: ItemRow, source: LabelSource): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.slice(0, EXCERPT_CHARS);
    case "tool":
      if (side === "input") return inputExcerpt(part.input, source);
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
function inputExcerpt(input: unknown, source: LabelSource): string {
  if (typeof input === "string") return input.slice(0, EXCERPT_CHARS);
  if (typeof input !== "object" || input === null) return safeJson(input).slice(0, EXCERPT_CHARS);
  const words: string[] = [];
  let chars = 0;
  for (const value of Object.values(input)) {
    if (chars > EXCERPT_CHARS) break;
    const word =
      typeof value === "string"
        ? inProject(value.slice(0, EXCERPT_CHARS), source)
        : typeof value === "number"
          ? `${value}`
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
const NAME_CHARS = 32;
