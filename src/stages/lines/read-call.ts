import { clipJson } from "../../text/clip.ts";
import { safeJson } from "../../text/json.ts";
import { mapStrings } from "../../text/map-strings.ts";
import { headCut } from "../../text/truncate.ts";
import { asObject } from "../../text/unknown-value.ts";
import { filePlaceholder, isCleared, outcomeText } from "../../transcript/content.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "../../transcript/part.ts";
import { type FileAccess, fileAccess } from "../file-access.ts";

/** A call as separate texts: a head with its name and short input, the long strings of its input, its output. */
export interface FillCall {
  readonly path: string | undefined;
  /** True when it changed that file. */
  readonly hasChanged: boolean;
  /** Characters that are rendered whenever the call is kept: head, result label, attachments. */
  readonly headChars: number;
  readonly texts: readonly { readonly source: FillSource; readonly text: string }[];
  /** The length of the input's JSON, and of input and output together. */
  readonly inputChars: number;
  readonly chars: number;
  /** The input with its long strings replaced, and its preview; undefined where the input stays as it is. */
  readonly withStrings: ((change: (text: string) => string) => ChangedInput) | undefined;
}

interface ChangedInput {
  readonly input: unknown;
  readonly inputChars: number;
  readonly preview: string;
}

/** Splits a call into its texts. */
export function readCall(part: ToolPart): FillCall {
  const access = fileAccess(part);
  const { head, strings, inputChars, withStrings } = readInput(part);
  const output = outputOf(part);
  const texts: { source: FillSource; text: string }[] = [];
  if (!part.callMissing) texts.push({ source: "call", text: head });
  const isChange = access !== undefined && access.type !== "read";
  const hasChanged = isChange && part.outcome.status === "done";
  const removed = hasChanged ? removedTexts(part.input) : NOTHING;
  for (const text of strings)
    texts.push({ source: removed.has(text) ? "removed" : isChange ? "change" : "input", text });
  if (output !== "") texts.push({ source: outputSource(part.tool, head, access), text: output });
  const headChars = (part.callMissing ? 0 : head.length + 1) + resultChars(part);
  const chars = inputChars + (isCleared(part) ? CLEARED_PLACEHOLDER.length : output.length);
  return { path: access?.path, hasChanged, headChars, texts, inputChars, chars, withStrings };
}

/** Strings of an input that are longer than this, or have several lines, are selected by line. */
const LONG_STRING_CHARS = 200;
/** A head that is longer than this, even without its long strings, is cut. */
const MAX_HEAD_CHARS = 1200;
const RESULT_LABEL_CHARS = 14;
const ELLIPSIS = "...";
const SEARCH_TOOL = /grep|glob|search|find|^ls$|list/i;

function isLong(text: string): boolean {
  return text.length > LONG_STRING_CHARS || text.includes("\n");
}

/** The texts that an edit removed from a file. */
function removedTexts(input: unknown): ReadonlySet<unknown> {
  try {
    const { edits } = asObject(input);
    const changes = Array.isArray(edits) ? [input, ...edits] : [input];
    return new Set(changes.flatMap((change) => REMOVED_FIELDS.map((name) => asObject(change)[name])));
  } catch {
    // A getter or a proxy of the input threw.
    return new Set();
  }
}

const NOTHING: ReadonlySet<unknown> = new Set();
const REMOVED_FIELDS = ["old_string", "oldString", "old_str", "oldText", "old_text"];

interface ReadInput extends Pick<FillCall, "inputChars" | "withStrings"> {
  readonly head: string;
  readonly strings: readonly string[];
}

function readInput({ tool, input, inputCut }: ToolPart): ReadInput {
  const name = `[Tool: ${tool}]`;
  if (input === undefined) return { head: name, strings: [], inputChars: 0, withStrings: undefined };
  const whole = safeJson(input);
  const inputChars = whole.length;
  if (inputCut !== undefined)
    return { head: `${name} ${inputCut.preview}`, strings: [], inputChars, withStrings: undefined };
  const mayHaveLong = inputChars > LONG_STRING_CHARS || whole.includes("\\n");
  if (!mayHaveLong) return { head: `${name} ${whole}`, strings: [], inputChars, withStrings: undefined };
  const strings: string[] = [];
  const rest = mapStrings(input, (text) => {
    if (!isLong(text)) return text;
    strings.push(text);
    return "";
  });
  const json = strings.length === 0 ? whole : safeJson(rest);
  if (json.length > MAX_HEAD_CHARS) {
    const preview = readableJson(whole.slice(0, headCut(whole, MAX_HEAD_CHARS)) + ELLIPSIS);
    const withStrings = (): ChangedInput => {
      const clipped = clipJson(input, MAX_HEAD_CHARS);
      return { input: clipped, inputChars: safeJson(clipped).length, preview };
    };
    return { head: `${name} ${preview}`, strings: [], inputChars, withStrings };
  }
  const head = `${name} ${json}`;
  if (strings.length === 0) return { head, strings, inputChars, withStrings: undefined };
  return {
    head,
    strings,
    inputChars,
    withStrings(change) {
      const changed = mapStrings(input, (text) => (isLong(text) ? change(text) : text));
      const changedJson = changed === input ? whole : safeJson(changed);
      return { input: changed, inputChars: changedJson.length, preview: readableJson(changedJson) };
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

function outputSource(tool: string, head: string, access: FileAccess | undefined): FillSource {
  if (access?.type === "read" || PRINTS_FILE.test(head)) return "read";
  return SEARCH_TOOL.test(tool) ? "search" : "output";
}

/** A shell call that prints a file: agents without a read tool use it to read. */
const PRINTS_FILE =
  /"(?:command|cmd)":(?:\[.{0,40},)?"(?:cd [^&;|]{1,400}(?:&&|;) ?)?(?:cat(?! *[<>])|sed -n|head|tail|nl|git (?:diff|show)) /;

/**
 * The origin of a text, which tells how likely it is needed again. `removed` is text that an edit deleted from a
 * file.
 */
export type FillSource =
  | "user"
  | "agent"
  | "call"
  | "change"
  | "removed"
  | "input"
  | "read"
  | "search"
  | "output";

/** JSON with line breaks, tabs, quotes and backslashes unescaped: for reading, not for parsing. */
export function readableJson(json: string): string {
  let slash = json.indexOf("\\");
  if (slash === -1) return json;
  let text = "";
  let from = 0;
  while (slash !== -1) {
    const meaning = MEANINGS[json.charAt(slash + 1)];
    if (meaning !== undefined) {
      text += json.slice(from, slash) + meaning;
      from = slash + 2;
    }
    slash = json.indexOf("\\", slash + 2);
  }
  return text + json.slice(from);
}

const MEANINGS: Readonly<Record<string, string>> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
