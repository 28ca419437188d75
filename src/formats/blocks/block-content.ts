import {
  asArray,
  asObject,
  asString,
  jsonOrText,
  omitUndefined,
  safeJson,
  textOrJson,
  tryJson,
  type UnknownObject,
} from "../../text/json.ts";
import { filePlaceholder, outcomeText } from "../../transcript/content.ts";
import {
  COMPACTION_QUESTION,
  type FilePart,
  type OpaquePart,
  type Part,
  type ToolPart,
} from "../../transcript/part.ts";
import type { Source } from "./block-adapter.ts";

/** How an API writes what a tool gave: a string, or a list of texts and other things. */
export interface ResultShape {
  /** The `type` of a text in the list. */
  readonly textType: string;
  readFile(block: unknown): FilePart;
}

/** The blocks of a content: a list as it is, a text as one text block, nothing otherwise. */
export function contentBlocks(content: unknown): readonly unknown[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : asArray(content);
}

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

function textOf(block: unknown, textType: string): string | undefined {
  const { type, text } = asObject(block);
  return type === textType && typeof text === "string" ? text : undefined;
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

/** A part that is kept without being understood, named after its type; `content` is what a model reads of it. */
export function opaquePart(type: unknown, content?: unknown): OpaquePart {
  const name = asString(type) ?? "unknown";
  return content === undefined
    ? { type: "opaque", name }
    : { type: "opaque", name, chars: safeJson(content).length };
}

/** A file part from what an API says of it. Its content is remembered for as long as the part is referenced. */
export function filePart({ mime, filename, base64, url }: FileFields): FilePart {
  const part: FilePart = omitUndefined({
    type: "file" as const,
    mime: mime ?? mimeOfUrl(url) ?? "application/octet-stream",
    filename,
    sizeBytes: base64 === undefined ? dataUrlBytes(url) : base64Bytes(base64),
  });
  const content = base64 ?? url;
  if (content !== undefined) contents.set(part, content);
  return part;
}

const contents = new WeakMap<FilePart, string>();

/** The content of a file that was read with its bytes, in base64. */
export function fileBase64(part: FilePart): string | undefined {
  const content = contents.get(part) ?? "";
  const base64 = content.replace(/^data:[^,]{0,200};base64,/, "");
  return /^[A-Za-z0-9+/]{65,}={0,2}$/.test(base64) ? base64 : undefined;
}

interface FileFields {
  readonly mime?: string | undefined;
  readonly filename?: string | undefined;
  readonly base64?: string | undefined;
  readonly url?: string | undefined;
}

/** True for two files with the same type, name and size. */
export function isSameFile(file: FilePart, other: FilePart | undefined): boolean {
  return file.mime === other?.mime && file.filename === other.filename && file.sizeBytes === other.sizeBytes;
}

function mimeOfUrl(url: string | undefined): string | undefined {
  return url === undefined ? undefined : /^data:([^;,]+)/.exec(url.slice(0, 200))?.[1];
}

function dataUrlBytes(url: string | undefined): number | undefined {
  if (url === undefined || !url.startsWith("data:")) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1) return undefined;
  const data = url.slice(comma + 1);
  return url.slice(0, comma).endsWith(";base64") ? base64Bytes(data) : data.length;
}

function base64Bytes(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

/** The text block of a changed or new part; undefined for one that has no text form. */
export function writeText(
  part: Exclude<Part, ToolPart>,
  { value }: Source<UnknownObject>,
  textType: string,
): UnknownObject | undefined {
  const text = textFor(part);
  if (text === undefined || text.trim() === "") return undefined;
  return part.type === "text" && value !== undefined ? { ...value, text } : { type: textType, text };
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

/** True for a text block in which there is nothing but the text. */
export function isPlainText(block: unknown): block is { readonly type: "text"; readonly text: string } {
  return textOf(block, "text") !== undefined && Object.keys(asObject(block)).length === 2;
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

/** The input of a call whose wire keeps it as JSON text. Nothing is an empty input; text that is no JSON is the input itself. */
export function readArguments(text: unknown): unknown {
  if (typeof text !== "string") return text ?? {};
  if (text.trim() === "") return {};
  return jsonOrText(text);
}

/** The JSON text of an input. */
export function writeArguments(input: unknown): string {
  return tryJson(input ?? {}) ?? "{}";
}

/** True for a text that parses as JSON. */
export function isJsonText(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
