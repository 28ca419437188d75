import { isObject, tryJson, type UnknownObject } from "../text/json.ts";
import type { ToolPart } from "../transcript/part.ts";

/** What a call did to one file, where the tool's name and input say so reliably. Shell commands are not parsed. */
export function fileAccess({ tool, input }: Pick<ToolPart, "tool" | "input">): FileAccess | undefined {
  try {
    return isObject(input) ? accessOf(tool.toLowerCase().replaceAll("-", "_"), input) : undefined;
  } catch {
    // A getter or a proxy of the input threw.
    return undefined;
  }
}

/** What a call did to a file. */
export type FileAccess = FileRead | FileWrite | FileEdit;

/** Lines of one file. Two reads can be compared only when their `question` is the same. */
export interface FileRead {
  readonly type: "read";
  readonly path: string;
  /** The tool, the path and every setting that is not a range. */
  readonly question: string;
  readonly startLine: number;
  /** Infinity when the call names no end. */
  readonly maxLines: number;
}

/** Replaces the whole file by the content in the input. */
interface FileWrite {
  readonly type: "write";
  readonly path: string;
}

/** Changes a part of a file; the path is unset for a patch, which names its files inside its text. */
interface FileEdit {
  readonly type: "edit";
  readonly path?: string;
}

const READ_TOOLS = new Set("read read_file readfile file_read view view_file cat open_file".split(" "));
const WRITE_TOOLS = new Set("write write_file writefile file_write write_to_file create_file".split(" "));
const EDIT_TOOLS = new Set(
  (
    "edit edit_file multiedit multi_edit notebookedit notebook_edit replace replace_in_file search_replace " +
    "str_replace insert_content patch apply_patch apply_diff"
  ).split(" "),
);
/** Tools that read, write and edit, depending on `command`. */
const COMMAND_TOOLS = new Set(["str_replace_editor", "str_replace_based_edit_tool", "text_editor"]);

const PATH_FIELDS = ["filePath", "file_path", "path", "absolute_path", "target_file", "filename", "file"];
const CONTENT_FIELDS = ["content", "contents", "file_text", "text"];
const PAIR_FIELDS = ["view_range", "line_range", "lineRange", "range"];
const FIRST_LINE_FIELDS = ["start_line", "startLine", "start_line_one_indexed"];
const LAST_LINE_FIELDS = ["end_line", "endLine", "end_line_one_indexed_inclusive"];
/** Fields on which the result does not depend. */
const REMARK_FIELDS = ["description", "explanation"];
const RANGE_AND_REMARK_FIELDS = new Set([
  ...["offset", "limit", "command"],
  ...PATH_FIELDS,
  ...PAIR_FIELDS,
  ...FIRST_LINE_FIELDS,
  ...LAST_LINE_FIELDS,
  ...REMARK_FIELDS,
]);

function accessOf(tool: string, input: UnknownObject): FileAccess | undefined {
  const path = pathOf(input);
  switch (kindOf(tool, input)) {
    case "read":
      return path === undefined ? undefined : readOf(tool, path, input);
    case "write":
      return path === undefined || !isWholeContent(input) ? editOf(path) : { type: "write", path };
    case "edit":
      return editOf(path);
    default:
      return undefined;
  }
}

function kindOf(tool: string, { command }: UnknownObject): FileAccess["type"] | undefined {
  if (READ_TOOLS.has(tool)) return "read";
  if (WRITE_TOOLS.has(tool)) return "write";
  if (EDIT_TOOLS.has(tool)) return "edit";
  if (!COMMAND_TOOLS.has(tool)) return undefined;
  if (command === "view") return "read";
  return command === "create" ? "write" : "edit";
}

function readOf(tool: string, path: string, input: UnknownObject): FileRead | undefined {
  const range = rangeOf(input);
  const settings = Object.entries(input).filter(([name]) => !RANGE_AND_REMARK_FIELDS.has(name));
  const json = tryJson(settings);
  if (range === undefined || json === undefined) return undefined;
  return { type: "read", path, question: `${tool}\n${path}\n${json}`, ...range };
}

function editOf(path: string | undefined): FileEdit {
  return path === undefined ? { type: "edit" } : { type: "edit", path };
}

/** The lines that a read asks for; undefined when its range is not understood. */
function rangeOf(input: UnknownObject): Pick<FileRead, "startLine" | "maxLines"> | undefined {
  const pair = firstOf(input, PAIR_FIELDS);
  const [first, last] = Array.isArray(pair)
    ? pair
    : [firstOf(input, FIRST_LINE_FIELDS), firstOf(input, LAST_LINE_FIELDS)];
  if (pair !== undefined && !Array.isArray(pair)) return undefined;
  const startLine = lineNumber(input.offset ?? first, 0);
  if (startLine === undefined) return undefined;
  // The text editor tool writes "to the end of the file" as -1.
  const lastLine = last === -1 ? Number.POSITIVE_INFINITY : lineNumber(last, Number.POSITIVE_INFINITY);
  const limit = lineNumber(input.limit, Number.POSITIVE_INFINITY);
  if (lastLine === undefined || limit === undefined) return undefined;
  return { startLine, maxLines: Math.min(limit, lastLine - startLine + 1) };
}

function lineNumber(value: unknown, otherwise: number): number | undefined {
  if (value === undefined || value === null) return otherwise;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number >= 0 ? number : undefined;
}

function isWholeContent(input: UnknownObject): boolean {
  return (
    typeof firstOf(input, CONTENT_FIELDS) === "string" && input.append !== true && input.mode !== "append"
  );
}

function pathOf(input: UnknownObject): string | undefined {
  const path = firstOf(input, PATH_FIELDS);
  if (typeof path !== "string") return undefined;
  const plain = path.replace(/\/{2,}/g, "/").replace(/^(?:\.\/)+/, "");
  return plain === "" ? undefined : plain;
}

function firstOf(input: UnknownObject, names: readonly string[]): unknown {
  const name = names.find((each) => input[each] !== undefined && input[each] !== null);
  return name === undefined ? undefined : input[name];
}
