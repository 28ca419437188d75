import { clipLine } from "../../text/clip.ts";
import { KEY_FACT_TYPES, type KeyFact, type KeyFactType } from "../../transcript/carried-facts.ts";
import type { TextPiece } from "./text.ts";

/**
 * Exact things of a conversation (paths, commands, errors, …) with the place where each was seen last. They are ranked by
 * how often and how lately they were seen, and by how hard their kind is to find again. Needs no model.
 */
export function collectKeyFacts(
  carried: readonly KeyFact[],
  pieces: readonly TextPiece[],
): readonly KeyFact[] {
  const entries = new Map<string, KeyFactEntry>();
  // Newest first, so that the limit on candidates drops the oldest.
  for (let index = pieces.length - 1; index >= 0; index--) {
    const piece = pieces[index] as TextPiece;
    const here = new Set<string>();
    for (const { type, text } of findKeyFacts(piece)) {
      const key = `${type}\n${text}`;
      if (here.has(key) || text.includes("REDACTED:")) continue;
      here.add(key);
      const known = entries.get(key);
      if (known !== undefined) known.seen++;
      else if (entries.size < MAX_CANDIDATES) {
        const recency =
          (index + 1) / pieces.length + (piece.type === "error" && type === "error" ? FAILED_RECENCY : 0);
        entries.set(key, { type, text, handle: piece.handle, seen: 1, recency });
      }
    }
  }
  for (const [index, keyFact] of carried.entries()) {
    const known = entries.get(`${keyFact.type}\n${keyFact.text}`);
    if (known !== undefined) known.seen += keyFact.seen;
    // Carried key facts start with half the recency of new ones, decreasing down the list.
    else {
      const recency = 0.5 - index / carried.length / 2 + (keyFact.type === "error" ? FAILED_RECENCY / 2 : 0);
      entries.set(`${keyFact.type}\n${keyFact.text}`, { ...keyFact, recency });
    }
  }
  return [...entries.values()]
    .sort((one, other) => keyFactScore(other) - keyFactScore(one))
    .slice(0, MAX_KEY_FACTS)
    .map(({ type, text, handle, seen }) => ({ type, text, handle, seen }));
}

/** The key facts whose list takes at most `maxChars`: first every kind up to its share, then the rest in order of rank. */
export function selectKeyFacts(keyFacts: readonly KeyFact[], maxChars: number): readonly KeyFact[] {
  const chosen = new Set<KeyFact>();
  const handles = new Set<string>();
  const leftOf = new Map<KeyFactType, number>(
    KEY_FACT_TYPES.map((type) => [type, maxChars * KINDS[type].share]),
  );
  let leftChars = maxChars;
  for (const limit of ["share", "all"] as const) {
    for (const keyFact of keyFacts) {
      if (chosen.has(keyFact)) continue;
      const chars = keyFact.text.length + 3 + (handles.has(keyFact.handle) ? 0 : keyFact.handle.length + 5);
      const leftOfType = leftOf.get(keyFact.type) ?? 0;
      if (chars > leftChars || (limit === "share" && chars > leftOfType)) continue;
      chosen.add(keyFact);
      handles.add(keyFact.handle);
      leftChars -= chars;
      leftOf.set(keyFact.type, leftOfType - chars);
    }
  }
  return keyFacts.filter((keyFact) => chosen.has(keyFact));
}

interface KeyFactEntry extends KeyFact {
  seen: number;
  /** 1 for what was seen last; at most a half for what an earlier compaction carried. */
  readonly recency: number;
}

/** What a call failed with is ahead of lines with the word in them, however old it is. */
const FAILED_RECENCY = 1;
const MAX_CANDIDATES = 20_000;
const MAX_KEY_FACTS = 400;

/** The share of the room that a kind may take first, and how hard things of that kind are to find again. */
const KINDS: Readonly<Record<KeyFactType, { readonly share: number; readonly score: number }>> = {
  path: { share: 0.3, score: 1 },
  error: { share: 0.2, score: 1.5 },
  command: { share: 0.2, score: 1 },
  identifier: { share: 0.15, score: 0 },
  url: { share: 0.08, score: 0.5 },
  sha: { share: 0.07, score: 1 },
};

function keyFactScore({ type, seen, recency }: KeyFactEntry): number {
  return KINDS[type].score + Math.log2(1 + seen) + 2 * recency;
}

/** The exact things in a piece of a conversation: paths, identifiers, errors, commands, URLs, hashes. */
export function findKeyFacts(piece: TextPiece): readonly FoundKeyFact[] {
  const found: FoundKeyFact[] = [];
  const { type, text } = piece;
  const isResult = type === "output" || type === "error";
  if (type === "input") findCommand(text, found);
  if (isResult) findErrors(text, type === "error", found);
  // Outputs hold too many identifiers; those that matter also occur in requests or calls.
  // In the JSON of a call a word may follow on the letter of an escape, as in `\\tname`.
  findWords(type === "input" ? text.replace(/\\./g, "  ") : text, isResult ? "exact" : "all", found);
  return found;
}

type FoundKeyFact = Pick<KeyFact, "type" | "text">;

const MAX_WORD_CHARS = 200;
const MAX_LINE_CHARS = 200;
const MAX_ERRORS = 3;

/** One pass over the words; what a word is depends on that word alone, so the cost is linear. */
function findWords(text: string, what: "all" | "exact", found: FoundKeyFact[]): void {
  WORD.lastIndex = 0;
  for (let match = WORD.exec(text); match !== null; match = WORD.exec(text)) {
    const raw = match[0];
    if (raw.length < 5 || raw.length > MAX_WORD_CHARS) continue;
    // A closing tag, such as those around what a tool read, is no path.
    if (raw.startsWith("/") && text[match.index - 1] === "<") continue;
    const word = trimWord(raw);
    const type = keyFactType(word);
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

function keyFactType(word: string): KeyFactType | undefined {
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
function findCommand(json: string, found: FoundKeyFact[]): void {
  const match = /"(?:command|cmd|script)":"((?:[^"\\]|\\.){3,2000})"/.exec(json);
  const command = match?.[1]?.replace(/\\[nrt]/g, " ").replace(/\\(["\\/])/g, "$1");
  // An editor tool names its operation in the same field.
  if (command !== undefined && /\s/.test(command)) {
    found.push({ type: "command", text: clipLine(command, MAX_LINE_CHARS) });
  }
}

function findErrors(text: string, isError: boolean, found: FoundKeyFact[]): void {
  if (!isError && !ERROR_WORD.test(text)) return;
  let errors = 0;
  for (let start = 0; start < text.length && errors < MAX_ERRORS; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(start, Math.min(end, start + MAX_LINE_CHARS * 2));
    start = end + 1;
    const isFirstOfError = isError && errors === 0 && line.trim() !== "";
    if (!isFirstOfError && (!ERROR_WORD.test(line) || NO_ERROR.test(line))) continue;
    found.push({ type: "error", text: clipLine(line, MAX_LINE_CHARS) });
    errors++;
  }
}

const ERROR_WORD =
  /\b(?:\w{0,40}(?:Error|Exception)|error|ERROR|fatal|FATAL|panic|FAILED|failed|Traceback)\b/;
const NO_ERROR = /\b(?:0|no|without) (?:\w+ )?(?:errors?|failed)\b/i;
