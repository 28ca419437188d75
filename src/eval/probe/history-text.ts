import { safeJson } from "../../text/json.ts";
import { asObject } from "../../text/unknown-value.ts";
import { outcomeText } from "../../transcript/content.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";

/**
 * Each message as plain text: a label line, texts, calls and results as `show` gives them. All baselines use it, so
 * that they differ only in what they keep. Reasoning is left out.
 */
export function plainMessages(transcript: Transcript, show: ShowCall = showWhole): readonly string[] {
  return eachMessage(transcript, show).map((pieces) => {
    let text = "";
    for (const piece of pieces) text += text === "" ? piece.text : `\n${piece.text}`;
    return text;
  });
}

/** How long each message's plain text would be. */
export function plainLengths(transcript: Transcript, show: ShowCall = showWhole): readonly number[] {
  return eachMessage(transcript, show).map((pieces) =>
    pieces.reduce((sum, { text }) => sum + text.length, pieces.length - 1),
  );
}

/** What is shown of a call whose result is this many calls away from the newest. */
export type ShowCall = (part: ToolPart, callsSince: number) => ShownCall;

export interface ShownCall {
  /** The most characters of the input's JSON. */
  readonly inputChars: number;
  /** Undefined where there is no result to show. */
  readonly output: string | undefined;
}

/** Shows a call in full. */
function showWhole(part: ToolPart): ShownCall {
  return { inputChars: Number.POSITIVE_INFINITY, output: outputOf(part) };
}

/** The output or error of a call; undefined while it is pending. */
export function outputOf({ outcome }: ToolPart): string | undefined {
  return outcome.status === "pending" ? undefined : outcomeText(outcome);
}

/** The calls of a transcript, oldest first. */
export function callsOf(transcript: Transcript): readonly ToolPart[] {
  return transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
}

/** A piece of a message's plain text; pieces are joined by newlines. */
interface PlainPiece {
  readonly type: "label" | "written" | "result";
  readonly text: string;
}

/** The pieces of a message: its label, its texts, its calls with their results. */
function piecesOf(message: Message, showCall: (part: ToolPart) => ShownCall): readonly PlainPiece[] {
  const pieces: PlainPiece[] = [{ type: "label", text: labelOf(message) }];
  for (const part of message.parts) {
    if (part.type === "text" && part.text !== "" && !part.ignored)
      pieces.push({ type: "written", text: part.text });
    if (part.type !== "tool") continue;
    const { inputChars, output } = showCall(part);
    pieces.push({ type: "written", text: callLine(part, inputChars) });
    if (output !== undefined) pieces.push(RESULT_LABEL, { type: "result", text: output });
  }
  return pieces;
}

const RESULT_LABEL: PlainPiece = { type: "label", text: "[Tool result]" };

function eachMessage(transcript: Transcript, show: ShowCall): readonly (readonly PlainPiece[])[] {
  let callsLeft = callsOf(transcript).length;
  return transcript.map((message) => piecesOf(message, (part) => show(part, --callsLeft)));
}

function labelOf({ role }: Message): string {
  return role === "user" ? "\nUser:" : role === "assistant" ? "\nAgent:" : `\n${role}:`;
}

function callLine(part: ToolPart, inputChars: number): string {
  const json = inputJson(part);
  return `[Tool: ${part.tool}] ${json.length > inputChars ? `${json.slice(0, inputChars)}...` : json}`;
}

const inputJson = cachePerObject(({ input }: ToolPart) => safeJson(input ?? {}));

/** The function with its results cached; messages and parts are immutable. */
export function cachePerObject<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const cache = new WeakMap<K, V>();
  return (key) => {
    const value = cache.get(key) ?? compute(key);
    cache.set(key, value);
    return value;
  };
}

/** A history as one text, with the places where its blocks begin and end. */
export interface HistoryText {
  /** All of it, unescaped. */
  readonly text: string;
  /** Its length as it would be sent. */
  readonly sentChars: number;
  /** In order, without overlap. */
  readonly blocks: readonly HistoryBlock[];
}

/** One label, text, call or result of a history. */
export interface HistoryBlock {
  readonly type: PlainPiece["type"];
  readonly startChar: number;
  readonly endChar: number;
  /** Calls in the messages behind this one's. */
  readonly callsSince: number;
  /** How long the block is before unescaping. */
  readonly sentChars: number;
}

/** The text of a history. Blocks are unescaped one by one, so that no escape spans two of them. */
export function historyText(history: Transcript): HistoryText {
  const blocks: HistoryBlock[] = [];
  let callsSince = callsOf(history).length;
  let text = "";
  let sentChars = 0;
  for (const message of history) {
    for (const { type } of message.parts) if (type === "tool") callsSince--;
    for (const [index, piece] of piecesOf(message, showWhole).entries()) {
      if (index > 0) text += "\n";
      const startChar = text.length;
      text += unescapeText(piece.text);
      sentChars += piece.text.length + (index > 0 ? 1 : 0);
      blocks.push({
        type: piece.type,
        startChar,
        endChar: text.length,
        callsSince,
        sentChars: piece.text.length,
      });
    }
  }
  return { text, sentChars, blocks };
}

/** The block at an offset; undefined between two blocks. */
export function blockAt({ blocks }: HistoryText, char: number): HistoryBlock | undefined {
  let low = 0;
  let high = blocks.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const block = blocks[middle];
    if (block === undefined) return undefined;
    if (char < block.startChar) high = middle - 1;
    else if (char >= block.endChar) low = middle + 1;
    else return block;
  }
  return undefined;
}

/**
 * The text with `\n`, `\t`, `\"` and `\\` unescaped. Histories and what policies keep of them are both unescaped, so
 * that a line inside the JSON of a tool input counts as a line.
 */
export function unescapeText(text: string): string {
  let slash = text.indexOf("\\");
  if (slash === -1) return text;
  let plain = "";
  let from = 0;
  while (slash !== -1) {
    const meaning = MEANINGS[text.charAt(slash + 1)];
    if (meaning !== undefined) {
      plain += text.slice(from, slash) + meaning;
      from = slash + 2;
    }
    slash = text.indexOf("\\", meaning === undefined ? slash + 1 : from);
  }
  return plain + text.slice(from);
}

const MEANINGS: Readonly<Record<string, string>> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };

/** The identifiers of a text with their class; only those that a model cannot know without having seen them. */
export function findIdentifiers(text: string, workingDirectory = ""): ReadonlyMap<string, IdentifierClass> {
  const found = new Map<string, IdentifierClass>();
  // Each step blanks out what it took, so that a path inside a URL is not found a second time.
  let rest = unescapeText(text).replace(URL_PATTERN, (url) => {
    const trimmed = url.replace(/[.,;:]+$/, "");
    if (trimmed.length >= MIN_URL_CHARS) found.set(trimmed, "literal");
    return " ";
  });
  for (const pattern of LITERAL_PATTERNS) {
    rest = rest.replace(pattern, (literal) => {
      found.set(literal, "literal");
      return " ";
    });
  }
  rest = rest.replace(PATH_TOKEN, (token) => takePaths(token, { workingDirectory, found }));
  rest = rest.replace(LIBRARY_MEMBER, " ");
  for (const word of rest.match(SYMBOL_PATTERN) ?? [])
    if (isStructured(word) && !KNOWN_WORDS.has(word)) found.set(word, "symbol");
  // Published sessions are redacted: the agent never wrote such a name.
  for (const identifier of found.keys()) if (identifier.includes("REDACTED")) found.delete(identifier);
  return found;
}

type IdentifierClass = "path" | "symbol" | "literal";

/** A word of code, as long as a symbol must be. */
export const SYMBOL_PATTERN: RegExp = /[A-Za-z_][A-Za-z0-9_]{5,}/g;

const MIN_URL_CHARS = 16;
const URL_PATTERN = /https?:\/\/[^\s"'`<>)\]]+/g;
const LITERAL_PATTERNS: readonly RegExp[] = [
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b/g,
  /\b[A-Z]{2,6}-\d{1,6}\b|#\d{1,6}\b/g,
];

interface PathSearch {
  readonly workingDirectory: string;
  readonly found: Map<string, IdentifierClass>;
}

function takePaths(token: string, { workingDirectory, found }: PathSearch): string {
  // Longer runs are data, and the pattern takes quadratic time on them.
  if (token.length > MAX_PATH_CHARS) return token;
  return token.replace(PATH_PATTERN, (written) => {
    const path = relativePath(written, workingDirectory);
    // The working directory is in every system prompt.
    if (workingDirectory !== "" && (path === workingDirectory || workingDirectory.startsWith(`${path}/`)))
      return " ";
    if (!looksLikePath(path)) return written;
    found.set(path, "path");
    return " ";
  });
}

function relativePath(written: string, workingDirectory: string): string {
  let path = written.replace(/[.,;:()[\]-]+$/, "").replace(/^[([]+/, "");
  if (workingDirectory !== "" && path.startsWith(`${workingDirectory}/`))
    path = path.slice(workingDirectory.length + 1);
  return path
    .replace(/^\.\//, "")
    .replace(/\/\.\.\.$/, "")
    .replace(/\/$/, "");
}

function looksLikePath(path: string): boolean {
  if (/^\/[^/.]+$/.test(path)) return false;
  if (path.length < 5 || SYSTEM_PATH.test(path) || !/[A-Za-z]{2}/.test(path)) return false;
  // Two plain words around a slash are prose: "and/or", "read/write".
  return /\.[A-Za-z]{1,5}$/.test(path) || path.startsWith("/") || path.split("/").length >= 3;
}

const MAX_PATH_CHARS = 1000;
const PATH_TOKEN = /[\w~/@+.[\]()-]{5,}/g;
const EXTENSIONS =
  "go|ts|tsx|js|mjs|cjs|jsx|py|rs|md|mdx|json|jsonl|ya?ml|toml|sh|css|scss|html|sql|lock|txt|java|kt|c|h|cc|cpp|hpp|rb|php|swift|vue|svelte|mod|sum|cfg|ini|env|xml|proto|tf";
const SEGMENT = String.raw`[\w@+\-.[\]()]+`;
const PATH_PATTERN = new RegExp(
  String.raw`(?:~|\.{1,2})?(?:/?${SEGMENT})?(?:/${SEGMENT})+|\b[\w\-.]+\.(?:${EXTENSIONS})\b`,
  "g",
);
const SYSTEM_PATH = /^(?:\/dev\/|\/tmp\/?$|\/bin\/|\/usr\/|\/etc\/|\/\/|[\d./]+$|\.\.?\/?$)/;

/** Names of the standard libraries: a model needs no context to know them. */
const LIBRARIES =
  "fmt|os|strings|filepath|path|errors|json|time|testing|t|tt|tc|b|exec|context|ctx|bytes|sort|slices|maps|sync|atomic|strconv|io|ioutil|bufio|regexp|slog|log|http|url|hex|sha256|sha1|md5|rand|math|utf8|unicode|runtime|reflect|Math|JSON|Object|Array|Promise|Number|String|Date|console|process|fs|fsp|Buffer|React|self|super|np|pd|sys|re|subprocess|logging|pytest|assert|require|expect|vi|jest";
const LIBRARY_MEMBER = new RegExp(String.raw`\b(?:${LIBRARIES})\.[A-Za-z_]\w+`, "g");
const KNOWN_WORDS: ReadonlySet<string> = new Set(
  "in_progress file_path old_string new_string replace_all output_mode head_limit files_with_matches subagent_type activeForm filePath oldString newString oldText newText TodoWrite general-purpose run_in_background tool_use tool_result multiline __init__ __name__ __main__ className useState useEffect useRef useMemo useCallback onClick onChange stdout stderr JavaScript TypeScript GitHub".split(
    " ",
  ),
);

function isStructured(word: string): boolean {
  return (
    /[a-z0-9][A-Z]/.test(word) ||
    /[A-Za-z0-9]_[A-Za-z0-9]/.test(word) ||
    (word.length >= 8 && /[A-Za-z]\d/.test(word))
  );
}

/** True when a text contains a target: a symbol as a whole word, anything else as a substring. */
export function hasIdentifier(text: string, { identifier, class: kind }: Mentioned): boolean {
  if (kind !== "symbol") return text.includes(identifier);
  for (let at = text.indexOf(identifier); at !== -1; at = text.indexOf(identifier, at + 1)) {
    if (!isWordUnit(text.charCodeAt(at + identifier.length)) && beginsWord(text, at)) return true;
  }
  return false;
}

/** Something that a call named. */
export interface Mentioned {
  readonly identifier: string;
  readonly class: TargetClass;
}

export type TargetClass = IdentifierClass | "edit-line";

/** Digits before a word do not belong to it: `1fooBar` contains `fooBar`. */
function beginsWord(text: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && isDigit(text.charCodeAt(before))) before--;
  return before < 0 || !isWordUnit(text.charCodeAt(before));
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

function isWordUnit(unit: number): boolean {
  return isDigit(unit) || unit === 95 || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122);
}

/** The lines that an edit must repeat exactly: of the text that it replaces, or of a patch's context. */
export function editLines(input: unknown): ReadonlySet<string> {
  const lines = new Set<string>();
  collectReplaced(input, lines);
  for (const key of PATCH_KEYS) collectPatched(asObject(input)[key], lines);
  return lines;
}

const REPLACED_KEYS: ReadonlySet<string> = new Set([
  "old_string",
  "oldString",
  "oldText",
  "old_str",
  "old_text",
]);
const PATCH_KEYS = ["patch", "patchText", "input"] as const;
const MIN_LINE_CHARS = 16;

function collectReplaced(value: unknown, lines: Set<string>): void {
  // Iterating a set includes values added meanwhile, and a cyclic value is visited once.
  const values = new Set<unknown>([value]);
  for (const next of values) {
    for (const [key, inner] of Object.entries(asObject(next))) {
      if (typeof inner === "string" && REPLACED_KEYS.has(key))
        for (const line of inner.split("\n")) addLine(line, lines);
      else values.add(inner);
    }
  }
}

function collectPatched(patch: unknown, lines: Set<string>): void {
  if (typeof patch !== "string" || !patch.includes("*** ")) return;
  for (const line of patch.split("\n")) if (/^[- ]/.test(line)) addLine(line.slice(1), lines);
}

function addLine(line: string, lines: Set<string>): void {
  const text = unescapeText(line).trim();
  if (text.length >= MIN_LINE_CHARS && /[A-Za-z]{3}/.test(text)) lines.add(text);
}
