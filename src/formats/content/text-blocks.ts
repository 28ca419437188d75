import { asArray, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import { filePlaceholder } from "../../transcript/content.ts";
import { COMPACTION_QUESTION, type Part, type ToolPart } from "../../transcript/part.ts";

/** The blocks of a content: a list as it is, a text as one text block, nothing otherwise. */
export function contentBlocks(content: unknown): readonly unknown[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : asArray(content);
}

/** The text of a block of this type; undefined for any other block. */
export function textOf(block: unknown, textType: string): string | undefined {
  const { type, text } = asObject(block);
  return type === textType && typeof text === "string" ? text : undefined;
}

/** True for a text block in which there is nothing but the text. */
export function isPlainText(block: unknown): block is { readonly type: "text"; readonly text: string } {
  return textOf(block, "text") !== undefined && Object.keys(asObject(block)).length === 2;
}

/** Some blocks with plain texts that stand in a row made one, a blank line between them: not every receiver puts one there. */
export function joinTexts(blocks: readonly unknown[]): readonly unknown[] {
  const runs: unknown[][] = [];
  for (const block of blocks) {
    const last = runs.at(-1);
    if (isPlainText(block) && isPlainText(last?.[0])) last.push(block);
    else runs.push([block]);
  }
  if (runs.length === blocks.length) return blocks;
  return runs.map((run) => {
    const [first] = run;
    const texts = run.filter(isPlainText).map(({ text }) => text);
    return isPlainText(first) ? { ...first, text: texts.join("\n\n") } : first;
  });
}

/** The text block of a changed or new part; undefined for one that has no text form. */
export function writeText(
  part: Exclude<Part, ToolPart>,
  { value }: { readonly value?: UnknownObject },
  textType: string,
): UnknownObject | undefined {
  const text = textFor(part);
  if (text === undefined || text.trim() === "") return undefined;
  return part.type === "text" && value !== undefined ? { ...value, text } : { type: textType, text };
}

/** The text in place of a part that an edit wrote: of a marker the question that asks for a summary, of a file its name. */
export function textFor(part: Exclude<Part, ToolPart>): string | undefined {
  switch (part.type) {
    case "text":
      return part.text;
    case "compaction":
      return COMPACTION_QUESTION;
    case "file":
      return filePlaceholder(part);
    case "reasoning":
    case "opaque":
      return undefined;
    default:
      return part satisfies never;
  }
}
