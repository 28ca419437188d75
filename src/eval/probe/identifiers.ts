import { unescapeText } from "./history-text.ts";

/** The identifiers of a text with their class: only those that a model cannot know without having seen them. */
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
const SYMBOL_PATTERN = /[A-Za-z_][A-Za-z0-9_]{5,}/g;
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
  // Longer runs are data, and the pattern is quadratic on them.
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
