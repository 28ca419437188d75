import type { AnchorType } from "../transcript/carried-facts.ts";
import { oneLine } from "./summary-clean-text.ts";
import type { Piece } from "./summary-pieces.ts";

/** What a piece of a conversation says exactly: paths, names, error texts, commands, addresses, hashes. */
export function findAnchors(piece: Piece): readonly FoundAnchor[] {
  const found: FoundAnchor[] = [];
  const { type, text } = piece;
  const isResult = type === "output" || type === "error";
  if (type === "input") findCommand(text, found);
  if (isResult) findErrors(text, type === "error", found);
  // Names in outputs are too many to mean anything; those that matter are also written or asked for.
  findWords(text, isResult ? "exact" : "all", found);
  return found;
}

export interface FoundAnchor {
  readonly type: AnchorType;
  readonly text: string;
}

const MAX_WORD_CHARS = 200;
const MAX_LINE_CHARS = 200;
const MAX_ERRORS = 3;

/** One pass over the words; what a word is depends on that word alone, so the cost is linear. */
function findWords(text: string, what: "all" | "exact", found: FoundAnchor[]): void {
  WORD.lastIndex = 0;
  for (let match = WORD.exec(text); match !== null; match = WORD.exec(text)) {
    const raw = match[0];
    if (raw.length < 5 || raw.length > MAX_WORD_CHARS) continue;
    const word = trimWord(raw);
    const type = typeOf(word);
    if (type !== undefined && (type !== "identifier" || what === "all")) found.push({ type, text: word });
  }
}

const WORD = /[^\s"'`<>()[\]{},;|*\\]+/g;

function trimWord(word: string): string {
  const assigned = /^[A-Za-z_]\w{0,60}=(?=[./~])/.exec(word);
  return (assigned === null ? word : word.slice(assigned[0].length)).replace(
    /^[:=#]{1,8}|[.:!?=#&]{1,8}$/g,
    "",
  );
}

function typeOf(word: string): AnchorType | undefined {
  if (word.length < 5 || !/[A-Za-z]/.test(word)) return undefined;
  if (/^https?:\/\/[^/]/.test(word)) return "url";
  if (HASH.test(word)) return /\d/.test(word) && /[a-f]/.test(word) ? "sha" : undefined;
  if (word.includes("://")) return undefined;
  if (word.includes("/")) return isPath(word) ? "path" : undefined;
  if (FILE_NAME.test(word)) return "path";
  return isIdentifier(word) ? "identifier" : undefined;
}

const HASH = /^(?:[\da-f]{7,12}|[\da-f]{40}|[\da-f]{64})$/;
const FILE_NAME =
  /^[\w@+-][\w.@+-]*\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|md|json|ya?ml|toml|lock|html|css|scss|vue|svelte|proto|txt|cfg|ini|xml)(?::\d+){0,2}$/;

function isPath(word: string): boolean {
  if (!/^(?:~|\.{1,2})?\/?[\w.@+-]+(?:\/[\w.@+-]+)*\/?(?::\d+){0,2}$/.test(word)) return false;
  return /^[/~.]/.test(word) || /\.\w{1,8}(?::\d+){0,2}$/.test(word) || word.split("/").length > 2;
}

function isIdentifier(word: string): boolean {
  if (word.length > 60) return false;
  if (/^[A-Z]{2,10}-\d{1,7}$/.test(word)) return true;
  return (
    /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*){0,4}$/.test(word) &&
    /[a-z\d][A-Z]|[A-Za-z\d]_[A-Za-z\d]/.test(word)
  );
}

/** The command in the JSON of a call. */
function findCommand(json: string, found: FoundAnchor[]): void {
  const match = /"(?:command|cmd|script)":"((?:[^"\\]|\\.){3,2000})"/.exec(json);
  const command = match?.[1]?.replace(/\\[nrt]/g, " ").replace(/\\(["\\/])/g, "$1");
  // An editor tool names its operation in the same field.
  if (command !== undefined && /\s/.test(command)) {
    found.push({ type: "command", text: oneLine(command, MAX_LINE_CHARS) });
  }
}

function findErrors(text: string, isError: boolean, found: FoundAnchor[]): void {
  if (!isError && !ERROR_WORD.test(text)) return;
  let errors = 0;
  for (let start = 0; start < text.length && errors < MAX_ERRORS; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(start, Math.min(end, start + MAX_LINE_CHARS * 2));
    start = end + 1;
    const isFirstOfError = isError && errors === 0 && line.trim() !== "";
    if (!isFirstOfError && (!ERROR_WORD.test(line) || NO_ERROR.test(line))) continue;
    found.push({ type: "error", text: oneLine(line, MAX_LINE_CHARS) });
    errors++;
  }
}

const ERROR_WORD =
  /\b(?:\w{0,40}(?:Error|Exception)|error|ERROR|fatal|FATAL|panic|FAILED|failed|Traceback)\b/;
const NO_ERROR = /\b(?:0|no|without) (?:\w+ )?(?:errors?|failed)\b/i;
