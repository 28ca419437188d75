import { clipJson } from "../../text/clip-json.ts";
import { mapStrings } from "../../text/map-strings.ts";
import { safeJson } from "../../text/safe-json.ts";
import { headCut } from "../../text/truncate.ts";
import { CLEARED_PLACEHOLDER, outcomeText, type ToolPart } from "../../transcript/part.ts";
import { filePlaceholder } from "../../transcript/render.ts";
import { isCleared } from "../../transcript/tool-results.ts";
import { type FileAccess, fileAccess } from "../supersede-file-access.ts";
import type { FillSource } from "./fill-rows.ts";
import { readableJson } from "./readable-json.ts";

/** A call by its texts: a head that names it, the long strings of its input, its output. */
export interface FillCall {
  readonly path: string | undefined;
  /** What the call takes as soon as it is shown: its head, the label of its result, its attachments. */
  readonly headChars: number;
  readonly texts: readonly { readonly source: FillSource; readonly text: string }[];
  /** The input with other texts for its long strings, and how that reads; undefined where the input stays as it is. */
  readonly withStrings: ((change: (text: string) => string) => ChangedInput) | undefined;
}

export interface ChangedInput {
  readonly input: unknown;
  readonly preview: string;
}

/** Reads a call. */
export function readCall(part: ToolPart): FillCall {
  const access = fileAccess(part);
  const { head, strings, withStrings } = readInput(part);
  const output = outputOf(part);
  const texts: { source: FillSource; text: string }[] = [];
  if (!part.callMissing) texts.push({ source: "call", text: head });
  const isChange = access !== undefined && access.type !== "read";
  for (const text of strings) texts.push({ source: isChange ? "change" : "input", text });
  if (output !== "") texts.push({ source: outputSource(part.tool, access), text: output });
  const headChars = (part.callMissing ? 0 : head.length + 1) + resultChars(part);
  return { path: access?.path, headChars, texts, withStrings };
}

/** Strings of an input that are longer than this, or have several lines, are chosen by line. */
const LONG_STRING_CHARS = 200;
/** A head that is longer without its long strings is cut. */
const MAX_HEAD_CHARS = 1200;
const RESULT_LABEL_CHARS = 14;
const ELLIPSIS = "...";
const SEARCH_TOOL = /grep|glob|search|find|^ls$|list/i;

function isLong(text: string): boolean {
  return text.length > LONG_STRING_CHARS || text.includes("\n");
}

interface ReadInput extends Pick<FillCall, "withStrings"> {
  readonly head: string;
  readonly strings: readonly string[];
}

function readInput({ tool, input, inputCut }: ToolPart): ReadInput {
  const name = `[Tool: ${tool}]`;
  if (inputCut !== undefined)
    return { head: `${name} ${inputCut.preview}`, strings: [], withStrings: undefined };
  if (input === undefined) return { head: name, strings: [], withStrings: undefined };
  const strings: string[] = [];
  const rest = mapStrings(input, (text) => {
    if (!isLong(text)) return text;
    strings.push(text);
    return "";
  });
  const json = safeJson(rest);
  if (json.length > MAX_HEAD_CHARS) {
    const whole = safeJson(input);
    const preview = readableJson(whole.slice(0, headCut(whole, MAX_HEAD_CHARS)) + ELLIPSIS);
    const clipped = { input: clipJson(input, MAX_HEAD_CHARS), preview };
    return { head: `${name} ${preview}`, strings: [], withStrings: () => clipped };
  }
  if (strings.length === 0) return { head: `${name} ${json}`, strings, withStrings: undefined };
  return {
    head: `${name} ${json}`,
    strings,
    withStrings(change) {
      const changed = mapStrings(input, (text) => (isLong(text) ? change(text) : text));
      return { input: changed, preview: readableJson(safeJson(changed)) };
    },
  };
}

function outputOf(part: ToolPart): string {
  return isCleared(part) ? "" : outcomeText(part.outcome);
}

function resultChars(part: ToolPart): number {
  const { outcome } = part;
  if (outcome.status === "pending") return 0;
  let chars = RESULT_LABEL_CHARS;
  if (isCleared(part)) chars += CLEARED_PLACEHOLDER.length + 1;
  if (outcome.status === "done")
    for (const file of outcome.attachments) chars += filePlaceholder(file).length + 1;
  return chars;
}

function outputSource(tool: string, access: FileAccess | undefined): FillSource {
  if (access?.type === "read") return "read";
  return SEARCH_TOOL.test(tool) ? "search" : "output";
}
