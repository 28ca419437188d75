import { tryJson } from "../text/json.ts";
import { isObject, type UnknownObject } from "../text/unknown-value.ts";
import { isVisibleToModel, type Transcript } from "../transcript/message.ts";
import type { ToolPart } from "../transcript/part.ts";

/**
 * What a call did to one file, when the tool's name and input say so reliably. For shell commands see `fileChanges`.
 */
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
/** Input fields that do not change the result of a read. */
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

/** Files of a conversation by the last thing done to them, newest last. */
interface FileLedger {
  /** Neither created nor changed. */
  readonly filesRead: readonly string[];
  readonly filesCreated?: readonly string[];
  /** Files that were known before, or changed in part. */
  readonly filesChanged: readonly string[];
  readonly filesDeleted?: readonly string[];
}

/** The files that calls of these messages read, created, changed and deleted, on top of those known so far. */
export function recordFiles(known: FileLedger, messages: Transcript, clean: CleanPath): FileLedger {
  const states = new Map<string, FileState>();
  for (const [state, paths] of LISTS.map((name) => [name, known[name] ?? []] as const))
    for (const path of paths) states.set(path, state);
  const set = (path: string, state: FileState): void => {
    states.delete(path);
    states.set(path, state);
  };
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const part of message.parts) {
      if (part.type !== "tool" || part.agentVisible === false || part.outcome.status !== "done") continue;
      for (const { type, path: written } of fileChanges(part)) {
        const path = sameFile(clean(written), states);
        const before = states.get(path);
        if (path === "") continue;
        if (type === "delete") {
          for (const inner of [...states.keys()])
            if (inner.startsWith(`${path}/`)) set(inner, "filesDeleted");
          set(path, "filesDeleted");
        } else if (type === "read")
          set(path, before === "filesDeleted" ? "filesRead" : (before ?? "filesRead"));
        else if (before === "filesCreated" || before === "filesChanged") set(path, before);
        else set(path, type === "change" || before === "filesRead" ? "filesChanged" : "filesCreated");
      }
    }
  }
  const paths = (state: FileState): readonly string[] =>
    [...states].flatMap(([path, each]) => (each === state ? [path] : [])).slice(-MAX_FILES);
  return {
    filesRead: paths("filesRead"),
    filesChanged: paths("filesChanged"),
    filesCreated: paths("filesCreated"),
    filesDeleted: paths("filesDeleted"),
  };
}

/** An empty ledger. */
export const NO_FILES: FileLedger = { filesRead: [], filesChanged: [] };

/** Shortens the lists to a number of characters: files that were only read are dropped first, then the oldest. */
export function newestFiles(files: FileLedger, maxChars: number): FileLedger {
  let leftChars = maxChars;
  const take = (paths: readonly string[] = []): readonly string[] => {
    let first = paths.length;
    for (; first > 0; first--) {
      const chars = (paths[first - 1]?.length ?? 0) + 2;
      if (chars > leftChars) break;
      leftChars -= chars;
    }
    return paths.slice(first);
  };
  const filesDeleted = take(files.filesDeleted);
  const filesChanged = take(files.filesChanged);
  const filesCreated = take(files.filesCreated);
  return { filesRead: take(files.filesRead), filesChanged, filesCreated, filesDeleted };
}

/** The ledger as text for a model, one line per list, empty lists left out. */
export function listFiles(files: FileLedger, quote: (path: string) => string): readonly string[] {
  return LISTS.toReversed().flatMap((name) => {
    const paths = files[name] ?? [];
    const title = `Files ${name.slice("files".length).toLowerCase()}`;
    return paths.length === 0 ? [] : [`${title}: ${paths.map(quote).join(", ")}`];
  });
}

type CleanPath = (path: string) => string;
type FileState = keyof FileLedger;

const LISTS: readonly FileState[] = ["filesRead", "filesDeleted", "filesChanged", "filesCreated"];
const MAX_FILES = 300;

/** Resolves the relative path of a command to a known file when exactly one fits. */
function sameFile(path: string, known: ReadonlyMap<string, unknown>): string {
  if (path === "" || path.startsWith("/") || known.has(path)) return path;
  const whole = [...known.keys()].filter((each) => each.endsWith(`/${path}`));
  return whole.length === 1 ? (whole[0] ?? path) : path;
}

/** What a call did to a file; `write` and `change` differ in whether the file must have been there. */
interface FileChange {
  readonly type: "read" | "write" | "change" | "delete";
  readonly path: string;
}

/** What a call did to files: by its tool, by the patch in its input, or by the commands in it that can be told. */
export function fileChanges(part: Pick<ToolPart, "tool" | "input" | "outcome">): readonly FileChange[] {
  try {
    const { tool, input, outcome } = part;
    const access = fileAccess(part);
    const path = access?.path;
    if (access !== undefined && path !== undefined) {
      // When the tool says whether the file existed, trust it.
      const wasThere = (): boolean =>
        outcome.status === "done" && /overwr|has been updated/.test(outcome.output.slice(0, 500));
      return [
        {
          type: access.type === "edit" || (access.type === "write" && wasThere()) ? "change" : access.type,
          path,
        },
      ];
    }
    const texts = typeof input === "string" ? [input] : Object.values(input as object);
    if (access !== undefined || EDIT_TOOLS.has(tool)) return texts.flatMap(patchChanges);
    return SHELLS.test(tool) ? shellChanges(commandOf(input)) : [];
  } catch {
    // An unreadable input names no file.
    return [];
  }
}

const PATCHED =
  /^\*\*\* (Add|Update|Delete|Move) (?:File|to): (\S[^\n]{0,299})$|^(?:--- (?:a\/(\S[^\n\t]{0,299})|\/dev\/null)[^\n]{0,40}\n)?\+\+\+ (?:b\/(\S[^\n\t]{0,299})|\/dev\/null)/gm;

function patchChanges(patch: unknown): readonly FileChange[] {
  const changes: FileChange[] = [];
  if (typeof patch !== "string") return changes;
  for (const [all, verb, file, before, after] of patch.matchAll(PATCHED)) {
    const path = (file ?? after ?? before)?.trim();
    if (path === undefined) continue;
    // In a patch, the moved file is named before its target.
    if (verb === "Move") changes.push({ type: "delete", path: changes.pop()?.path ?? path });
    const isGone = verb === "Delete" || (file ?? after) === undefined;
    const isNew = verb === "Add" || verb === "Move" || all.startsWith("--- /dev/null");
    changes.push({ type: isGone ? "delete" : isNew ? "write" : "change", path });
  }
  return changes;
}

const SHELLS = /bash|shell|exec|terminal|run_command|^command$/i;

function commandOf(input: unknown): string {
  const { command, cmd, script } = isObject(input) ? input : { command: input };
  const text = command ?? cmd ?? script;
  if (Array.isArray(text)) return /sh$/.test(`${text[0]}`) ? `${text.at(-1)}` : text.join(" ");
  return typeof text === "string" ? text : "";
}

/** What a shell script did to files, as far as its words tell without running it. */
function shellChanges(script: string): readonly FileChange[] {
  if (script.length > MAX_SCRIPT_CHARS) return [];
  const changes: FileChange[] = script.includes("*** Begin Patch") ? [...patchChanges(script)] : [];
  let folder = "";
  const at = (word: string): string =>
    (/^[/~]/.test(word) || folder === "" ? word : `${folder}/${word}`)
      .replace(/\/(?:\.?\/)+/g, "/")
      .replace(/^(?:\.\/)+|\/$/g, "");
  const add = (type: FileChange["type"], word = ""): void => {
    if (word !== "" && !EXPANDED.test(at(word))) changes.push({ type, path: at(word) });
  };
  for (const words of readCommands(script)) {
    for (let index = words.length - 1; index >= 0; index--) {
      if (!/^(?:>>?|<)$/.test(words[index] ?? "")) continue;
      const [operator, file] = words.splice(index, 2);
      if (operator !== "<") add(operator === ">" ? "write" : "change", file);
    }
    while (/^\w+=|^(?:sudo|then|do|else)$/.test(words[0] ?? "")) words.shift();
    if (words[0] === "git" && /^(?:rm|mv)$/.test(words[1] ?? "")) words.shift();
    const [name, ...rest] = words;
    const named = rest.filter((word) => word !== "" && !word.startsWith("-"));
    const target = named.at(-1) ?? "";
    if (name === "cd") folder = at(named[0] ?? "$").slice(0, MAX_PATH_CHARS);
    if (name === "rm" && !rest.includes("--cached")) for (const file of named) add("delete", file);
    if (name === "touch" || name === "tee")
      for (const file of named) add(rest.includes("-a") ? "change" : "write", file);
    if (name === "sed" && rest.some((word) => /^-(?:[a-zA-Z]*i|-in-place)/.test(word)))
      for (const file of named.slice(Math.max(1, rest.filter((word) => word === "-e").length)))
        add("change", file);
    if ((name !== "mv" && name !== "cp") || named.length < 2) continue;
    const isFolder = /(?:^|\/)\.{0,2}$/.test(target) || named.length > 2;
    for (const file of named.slice(0, -1)) {
      if (EXPANDED.test(file)) continue;
      add("write", isFolder ? `${target}/${file.replace(/\/$/, "").replace(/.*\//, "")}` : target);
      if (name === "mv") add("delete", file);
    }
  }
  return changes.slice(0, MAX_CHANGES);
}

const MAX_PATH_CHARS = 1_000;
const MAX_CHANGES = 200;
const MAX_SCRIPT_CHARS = 100_000;
/** A word that is no file name: one that the shell expands, a device, or a stream number. */
const EXPANDED = /[$*?`{}\n&<>]|^\/dev\/|^\d*$/;

/** The simple commands of a script, word by word. */
function readCommands(script: string): readonly string[][] {
  const commands: string[][] = [[]];
  for (const [text, plain] of withoutHereDocuments(script).matchAll(SHELL_WORD)) {
    // An unclosed quote: what follows cannot be parsed.
    if (text === "'" || text === '"') break;
    if (plain !== undefined) commands.at(-1)?.push(unquote(plain));
    // `2>&1` goes to no file.
    else if (/^[\d&]?>>?$|^<$/.test(text)) commands.at(-1)?.push(text.replace(/^[\d&]/, ""));
    else if (/^[;|&()\n]/.test(text)) commands.push([]);
  }
  return commands;
}

const SHELL_WORD =
  /\\\n|#[^\n]*|<<<?|\d?>>?&?-?|&>>?|[;|&()\n]+|((?:\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|[^\s;|&()<>'"\\])+)|[\s\S]/g;

function unquote(word: string): string {
  return word.replace(
    /\\([\s\S])|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"/g,
    (_, escaped = "", single = "", double = "") => `${escaped}${single}${double}`,
  );
}

/** Removes here-documents, which are input of commands and no commands. */
function withoutHereDocuments(script: string): string {
  let rest = script;
  for (let left = MAX_HERE_DOCUMENTS; left > 0; left--) {
    const [head, , end] = /(?<!<)<<(?!<)-?\s*(["'\\]?)(\w+)\1?/.exec(rest) ?? [];
    if (head === undefined) break;
    const from = rest.indexOf("\n", rest.indexOf(head));
    const close = new RegExp(`\\n\\s*${end}(?=\\W|$)`).exec(rest.slice(from));
    const to = from === -1 || close === null ? rest.length : from + close.index + close[0].length;
    rest = rest.slice(0, from === -1 ? rest.length : from).replace(head, "") + rest.slice(to);
  }
  return rest;
}

const MAX_HERE_DOCUMENTS = 50;
