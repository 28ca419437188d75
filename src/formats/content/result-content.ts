import { textOrJson } from "../../text/json.ts";
import { asObject } from "../../text/unknown-value.ts";
import { outcomeText } from "../../transcript/content.ts";
import type { FilePart, Part, ToolPart } from "../../transcript/part.ts";
import { isSameFile } from "./foreign-parts.ts";
import { textOf } from "./text-blocks.ts";

/** The text of a result, one line break between its texts, and everything else in it as files. */
export function readResultContent(
  content: unknown,
  { textType, readFile }: ResultShape,
): { readonly output: string; readonly attachments: readonly FilePart[] } {
  if (!Array.isArray(content)) return { output: textOrJson(content), attachments: [] };
  const texts: string[] = [];
  const attachments: FilePart[] = [];
  for (const block of content) {
    const text = textOf(block, textType);
    if (text === undefined) attachments.push(readFile(block));
    else texts.push(text);
  }
  return { output: texts.join("\n"), attachments };
}

/** How an API writes what a tool gave: a string, or a list of texts and other things. */
export interface ResultShape {
  /** The `type` of a text in the list. */
  readonly textType: string;
  readFile(block: unknown): FilePart;
}

/** The content of an edited result: the form it had, the new text where the first one stood, the files that are left. */
export function writeResultContent(
  part: ToolPart,
  { before, content, shape }: ResultSource,
): string | readonly unknown[] {
  const text = outcomeText(part.outcome);
  if (!Array.isArray(content)) return text;
  const isTextKept = before?.type === "tool" && outcomeText(before.outcome) === text;
  const isKept = createFileFilter(part);
  const written: unknown[] = [];
  let isTextWritten = isTextKept || text.trim() === "";
  if (!isTextWritten && !content.some((block) => textOf(block, shape.textType) !== undefined)) {
    written.push({ type: shape.textType, text });
    isTextWritten = true;
  }
  for (const block of content) {
    if (textOf(block, shape.textType) === undefined) {
      if (isKept(shape.readFile(block))) written.push(block);
    } else if (isTextKept) {
      written.push(block);
    } else if (!isTextWritten) {
      written.push({ ...asObject(block), text });
      isTextWritten = true;
    }
  }
  return written.length === 0 ? text : written;
}

interface ResultSource {
  readonly before: Part | undefined;
  readonly content: unknown;
  readonly shape: ResultShape;
}

/** Tells for the files of a result, in their order, which the edit kept. A failed result lists none and keeps all. */
export function createFileFilter({ outcome, clearedAt }: ToolPart): (file: FilePart) => boolean {
  if (outcome.status !== "done") return () => clearedAt === undefined;
  const wanted = outcome.attachments;
  let next = 0;
  return (file) => {
    const isWanted = next < wanted.length && isSameFile(file, wanted[next]);
    if (isWanted) next++;
    return isWanted;
  };
}
