/** The tags around text that Carryover writes; quoted content must not be able to open or close one. */
export const FENCED_TAGS: readonly string[] = [
  "inherited_context",
  "summary",
  "previous-summary",
  "previous_summary",
  "conversation",
  "system-reminder",
  "tool_output",
  "tool_result",
  "tool_summary",
  "hook_context",
];

/** Escapes the bracket of every opening or closing form of the given tags, also with look-alike or invisible characters; the same reference when there is none. */
export function fence(text: string, tags: readonly string[]): string {
  const opensTag = createTagFinder(tags);
  return escapeBrackets(text, { pattern: ANGLE_BRACKET, opens: (index) => opensTag(text, index) });
}

/**
 * For text that is quoted as data: does what `fence` does, and also escapes control tokens of chat templates and
 * lines that look like the speaker labels of a written conversation.
 */
export function fenceData(text: string, tags: readonly string[] = FENCED_TAGS): string {
  const { pattern, opensTag } = bracketFinder(tags);
  const fenced = escapeBrackets(text, {
    pattern,
    opens: (index) => opensTag(text, index) || opensTemplateToken(text, index) || opensLabel(text, index),
  });
  return fenceSpeakers(fenced.includes("]~") ? fenced.replace(MINIMAX_TOKEN, "]&#126;") : fenced);
}

/**
 * Escapes the colon of lines that consist of a speaker label only, such as `User:`, so that quoted text cannot start
 * a new turn. Look-alike and invisible characters are recognized. Gives the same reference when there is none.
 */
export function fenceSpeakers(text: string): string {
  const nextColon = OTHER_COLON.test(text) ? findAnyColon : findColon;
  let escaped = "";
  let copiedUntil = 0;
  for (let index = nextColon(text, 0); index !== -1; index = nextColon(text, index + 1)) {
    if (!endsLine(text, index + 1)) continue;
    const line = text.slice(text.lastIndexOf("\n", index) + 1, index);
    if (!isSpeaker(line.split(OTHER_LINE_BREAK).at(-1) ?? "")) continue;
    escaped += `${text.slice(copiedUntil, index)}&#58;`;
    copiedUntil = index + 1;
  }
  return copiedUntil === 0 ? text : escaped + text.slice(copiedUntil);
}

const OTHER_COLON = /[\ufe13\ufe55\uff1a\ua789\u02d0\u02f8\u0589\u05c3\u16ec\u205a\u2236]/;
const ANY_COLON = new RegExp(`:|${OTHER_COLON.source}`, "g");
const OTHER_LINE_BREAK = /[\r\v\f\x85\u2028\u2029]/;
const BLANK_TO_LINE_END =
  /[\t\p{Zs}\p{Default_Ignorable_Code_Point}\p{Cf}]*(?:[\n\r\x0b\f\x85\u2028\u2029]|$)/uy;

function findColon(text: string, from: number): number {
  return text.indexOf(":", from);
}

function findAnyColon(text: string, from: number): number {
  ANY_COLON.lastIndex = from;
  return ANY_COLON.test(text) ? ANY_COLON.lastIndex - 1 : -1;
}

function endsLine(text: string, from: number): boolean {
  let index = from;
  while (text.charCodeAt(index) === 32) index++;
  const unit = text.charCodeAt(index);
  if (isVisibleAscii(unit)) return false;
  if (unit === 10) return true;
  BLANK_TO_LINE_END.lastIndex = index;
  return BLANK_TO_LINE_END.test(text);
}

const LINE_BREAKS = "\n\r\v\f\x85\u2028\u2029";

// The labels begin with a capital: `user:` is a key of many configuration files.
function isSpeaker(line: string): boolean {
  const trimmed = line.trim();
  const first = trimmed.charCodeAt(0);
  if (isVisibleAscii(first) && (first < 65 || first > 90)) return false;
  if (trimmed.length > MAX_SPEAKER_CHARS && !/[^ -~]/.test(trimmed)) return false;
  const visible = trimmed.replace(INVISIBLE_OR_BLANK, "");
  const name = visible.length > MAX_SPEAKER_CHARS ? "" : Array.from(visible, fold).join("");
  return /^[A-Z]/.test(name) && SPEAKERS.has(name.toLowerCase());
}

const MAX_SPEAKER_CHARS = 40;
const INVISIBLE_OR_BLANK = /[\s\p{Mn}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/gu;

/** Speaker labels: those that Carryover writes, and those that models know from their training. */
const SPEAKERS: ReadonlySet<string> = new Set([
  ...["user", "agent", "assistant", "system", "developer", "tool", "function", "model", "unknown", "other"],
  ...["human", "ai", "bot", "chatbot", "gpt", "observation", "environment", "ipython", "you", "operator"],
]);

/** True for a bracket at the start of a line behind which a label of a quoted conversation stands, such as `[User]:`. */
function opensLabel(text: string, bracketIndex: number): boolean {
  if (fold(text.charAt(bracketIndex)) !== "[") return false;
  if (isVisibleAscii(text.charCodeAt(bracketIndex - 1))) return false;
  let start = bracketIndex;
  // A surrogate pair: the character before starts one unit earlier.
  const charsBefore = () => ((text.charCodeAt(start - 1) & 0xfc00) === 0xdc00 ? 2 : 1);
  while (start > 0 && BLANK.test(text.slice(Math.max(0, start - charsBefore()), start)))
    start -= charsBefore();
  if (start > 0 && !LINE_BREAKS.includes(text.charAt(start - 1))) return false;
  return LABEL.test(readLabel(text, bracketIndex + 1).toLowerCase());
}

// Stops at the next opening bracket, so that no text is read twice.
function readLabel(text: string, startIndex: number): string {
  let label = "";
  for (let index = startIndex; index < text.length && label.length < MAX_LABEL_CHARS; ) {
    if (isPlain(text.charCodeAt(index))) {
      label += text.charAt(index++);
      continue;
    }
    const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
    index += character.length;
    const folded = fold(character);
    if (folded === "[" || LINE_BREAKS.includes(character)) break;
    label += folded.replace(INVISIBLE_OR_BLANK, "");
  }
  return label;
}

/** The labels of conversations that are written as text, without blanks. A tool's name may follow some of them. */
const LABEL =
  /^(?:(?:user|program,intheuser['\u2019]sname|assistant|agent|system|developer|human|other|summaryofearliertoolresults)\]:|leftouthere|assistantcalls|resultof|errorof|tool:|toolresult\]|toolerror\])/;
/** The first two letters of each label, for a cheap first check. */
const LABEL_BEGINS = "us pr as ag sy su de hu ot le re er to".split(" ");
const MAX_LABEL_CHARS = 80;
const BLANK = /^[^\S\n\r\x0b\f\x85\u2028\u2029]|^[\p{Default_Ignorable_Code_Point}\p{Cf}]/u;

const ANGLE_BRACKET = /[<\ufe64\uff1c]/g;

interface BracketFinder {
  /** Finds every bracket that may open a tag, a token or a label, with few false hits. */
  readonly pattern: RegExp;
  readonly opensTag: (text: string, bracketIndex: number) => boolean;
}

/** Cached per list of tags: the lists are constants. */
function bracketFinder(tags: readonly string[]): BracketFinder {
  const known = FINDERS.get(tags);
  if (known !== undefined) return known;
  const names = tags.map((tag) => tag.replace(/\W/g, "\\$&")).join("|");
  // Any character outside plain ASCII may be a disguised letter.
  const odd = "[^\\t-\\r !-~]";
  const word = `[\\s/\\\\]*(?:${names}|[!-;=-Z\\\\-~]*${odd})`;
  const token = `/?(?:\\||SYS>|(?:${ANGLE_TOKENS.join("|")})>|(?:${SQUARE_TOKENS.join("|")})\\])|\\w{1,32}\\|>|e~`;
  const label = `(?<![!-~].)\\s*(?:${LABEL_BEGINS.map(([one, two]) => `${one}\\s*(?:${two}|${odd})`).join("|")})`;
  const pattern = new RegExp(`[<\ufe64\uff1c[\ufe47\uff3b](?=${word}|${token}|${label})`, "gi");
  const finder = { pattern, opensTag: createTagFinder(tags) };
  FINDERS.set(tags, finder);
  return finder;
}

const FINDERS = new WeakMap<readonly string[], BracketFinder>();

interface Brackets {
  readonly pattern: RegExp;
  opens(index: number): boolean;
}

function escapeBrackets(text: string, { pattern, opens }: Brackets): string {
  pattern.lastIndex = 0;
  let escaped = "";
  let copiedUntil = 0;
  while (pattern.test(text)) {
    const index = pattern.lastIndex - 1;
    if (!opens(index)) continue;
    escaped += text.slice(copiedUntil, index) + (fold(text.charAt(index)) === "[" ? "&#91;" : "&lt;");
    copiedUntil = index + 1;
  }
  return copiedUntil === 0 ? text : escaped + text.slice(copiedUntil);
}

function createTagFinder(tags: readonly string[]): (text: string, bracketIndex: number) => boolean {
  const names = tags.map((tag) => tag.normalize("NFKC").toLowerCase()).filter((name) => name !== "");
  const initials = names.map((name) => name.charAt(0)).join("");
  const maxChars = names.reduce((longest, name) => Math.max(longest, name.length), 0) + 1;
  return (text, bracketIndex) => {
    const next = text.charAt(bracketIndex + (text.charAt(bracketIndex + 1) === "/" ? 2 : 1));
    if (isVisibleAscii(next.charCodeAt(0)) && !"/\\".includes(next) && !initials.includes(next.toLowerCase()))
      return false;
    const word = readVisible(text, {
      startIndex: skipToName(text, bracketIndex + 1),
      maxChars,
    }).toLowerCase();
    return names.some((name) => word.startsWith(name) && !/\w/.test(word.charAt(name.length)));
  };
}

/** Words that stand in angle brackets in the chat templates of models; `/` may stand before them. */
const ANGLE_TOKENS = [
  ...["s", "bos", "eos", "sop", "eop", "eom", "unk", "pad", "sep", "EOT", "PRE", "SUF", "MID", "PAD", "UNK"],
  ...["CLS", "SEP", "escape", "(?:start|end|begin(?:ning)?)_(?:of|function)_\\w+", "(?:im|turn)_\\w+"],
  ...[
    "extra_id_\\d+",
    "reserved_\\d+",
    "SPECIAL_\\d+",
    "ctrl\\d+",
    "unused\\d+",
    "mask:\\d",
    "role",
    "think",
  ],
  ...["tool_calls?", "tool_response", "TOOLCALL", "TOOL_RESPONSE", "AVAILABLE_TOOLS", "function_calls?"],
  ...["_(?:user|bot|system|end|start)", "longcat_\\w+", "seed:\\w+", "minimax:\\w+", "arg_(?:key|value)"],
  ...[
    "fim[_-](?:prefix|suffix|middle|pad)",
    "file_sep",
    "repo_name",
    "bot",
    "human",
    "用户",
    "\\w+_(?:TOKEN|CONTEXT)",
  ],
];

/** The same in square brackets. */
const SQUARE_TOKENS = [
  ...["INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT", "ARGS"],
  ...["CALL_ID", "THINK", "MODEL_SETTINGS", "BEGIN_AUDIO", "AUDIO", "IMG", "IMG_BREAK", "IMG_END"],
  ...["PREFIX", "MIDDLE", "SUFFIX", "[BE]O[ST]", "gMASK", "sMASK", "control_\\d+", "unused\\d+"],
  ...["UNUSED_TOKEN_\\d+", "PAD", "SEP", "CLS", "USER", "BOT"],
];

const TEMPLATE_TOKEN = new RegExp(
  `^(?:<\\/?\\|[^\\s|>]{1,64}(?:\\|?>|\\|\\w)|<\\w{1,32}\\|>|<\\/?SYS>>|<\\/?(?:${ANGLE_TOKENS.join("|")})>|\\[\\/?(?:${SQUARE_TOKENS.join("|")})\\]|\\[\\|\\w{1,32}\\|\\]|\\[e~$)`,
);
const LONGEST_TOKEN_CHARS = 68;
const MINIMAX_TOKEN = /\]~(?=!?b[[\]])/g;
function opensTemplateToken(text: string, bracketIndex: number): boolean {
  const bracket = fold(text.charAt(bracketIndex));
  return TEMPLATE_TOKEN.test(
    bracket + readVisible(text, { startIndex: bracketIndex + 1, maxChars: LONGEST_TOKEN_CHARS }),
  );
}

function isVisibleAscii(unit: number): boolean {
  return unit > 32 && unit < 127;
}

const BETWEEN = /^[\s/\\\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/u;

function skipToName(text: string, startIndex: number): number {
  let index = startIndex;
  while (index < text.length && !/\w/.test(text.charAt(index))) {
    const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
    const folded = fold(character);
    if (folded !== "" && !BETWEEN.test(folded)) break;
    index += character.length;
  }
  return index;
}

const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/u;

// Stops at the next opening bracket, so that no text is read twice.
function readVisible(
  text: string,
  { startIndex, maxChars }: { readonly startIndex: number; readonly maxChars: number },
): string {
  let plainEnd = startIndex;
  while (plainEnd < startIndex + maxChars && isPlain(text.charCodeAt(plainEnd))) plainEnd++;
  let word = text.slice(startIndex, plainEnd);
  for (let index = plainEnd; index < text.length && word.length < maxChars; ) {
    const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
    index += character.length;
    const folded = fold(character);
    // Checked before blanks, because U+FEFF is both invisible and a blank.
    if (INVISIBLE.test(folded) && !/^[\t-\r]/.test(folded)) continue;
    if (folded === "<" || folded === "[" || /^\s/.test(folded)) break;
    word += folded;
  }
  return word;
}

/** True for a character of ASCII that belongs to a word as it is. */
function isPlain(unit: number): boolean {
  return isVisibleAscii(unit) && unit !== 60 && unit !== 91;
}

/** A character as a reader takes it: compatibility forms, accents and letters of other scripts that look alike make no difference. */
function fold(character: string): string {
  if (character < "\x80") return character;
  const plain = character.normalize("NFKD").replace(/\p{Mn}/gu, "");
  if (plain < "\x80") return plain;
  const small = plain.toLowerCase();
  const own = LOOK_ALIKES.indexOf(plain);
  const index = own < 0 ? LOOK_ALIKES.indexOf(small) : own;
  if (index < 0) return plain;
  const seen = LOOK_ALIKES.charAt(index + 1);
  return small === plain ? seen : seen.toUpperCase();
}

// Lower-case letters of Cyrillic, Greek and Armenian, and symbols; each is followed by the ASCII letter that it looks
// like.
const LOOK_ALIKES =
  "аaеeоoсcрpуyхxѕsіiјjһhнhтtмmвbкkгrԁdαaβbεeηhιiκkμmΝNνvοoρpτtυuχxսuոnօoհhցg∪Uː:˸:։:׃:᛬:⁚:∶:꞉:";
