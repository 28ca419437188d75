import { oneLine } from "../../../text/clip.ts";
import { safeJson } from "../../../text/json.ts";
import { describeFile } from "../../../transcript/content.ts";
import type { Transcript } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import type { InspectedSession, ItemRow, MessageRow } from "../../view/types.ts";

/** The label of an item; only the beginning of its text is read. */
export function itemLabel(
  source: LabelSource,
  { index }: Pick<MessageRow, "index">,
  item: ItemRow,
): ItemLabel {
  const part = source.transcript[index]?.parts[item.partIndex];
  const words = item.path ?? (part === undefined ? "" : excerptOf(part, item, source));
  return { what: whatOf(item), detail: oneLine(inProject(words, source).slice(0, EXCERPT_CHARS)) };
}

/** What an item is, in a word, and the beginning of its text. */
interface ItemLabel {
  readonly what: string;
  readonly detail: string;
}

/** What labels are made from. */
export type LabelSource = Pick<InspectedSession, "workingDirectory"> & { readonly transcript: Transcript };

/** The name of an item in a sentence: a file, or what its call asked for. */
export function itemName(source: LabelSource, row: Pick<MessageRow, "index">, item: ItemRow): string {
  const { what, detail } = itemLabel(source, row, item.side === "output" ? { ...item, side: "input" } : item);
  const short = shortened(detail, NAME_CHARS);
  return short === "" ? (item.tool ?? what) : `${item.tool ?? what} ${short}`;
}

/** The beginning of a text, with an ellipsis when there is more. */
export function shortened(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars).trimEnd()}…` : text;
}

/** A role as the page calls it. */
export function roleWord(role: string): string {
  return role === "assistant" ? "agent" : role;
}

/** A path relative to the session's working directory. */
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
      return part.filename ?? describeFile(part);
    case "compaction":
      return `${part.trigger} compaction`;
    case "opaque":
      return part.name;
  }
}

/** The values of a call's input; the field names are the same for every call of a tool. */
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

const EXCERPT_CHARS = 160;
const NAME_CHARS = 32;
