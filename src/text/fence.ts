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

/** Like `fence`, and escapes the control tokens of chat templates too: for text that is quoted as data. */
export function fenceData(text: string, tags: readonly string[] = FENCED_TAGS): string {
  const opensTag = createTagFinder(tags);
  return escapeBrackets(text, {
    pattern: ANY_BRACKET,
    opens: (index) => opensTag(text, index) || opensTemplateToken(text, index),
  });
}

const ANGLE_BRACKET = /[<\ufe64\uff1c]/g;
const ANY_BRACKET = /[<\ufe64\uff1c[\ufe47\uff3b]/g;

interface Brackets {
  readonly pattern: RegExp;
  opens(index: number): boolean;
}

function escapeBrackets(text: string, { pattern, opens }: Brackets): string {
  pattern.lastIndex = 0;
  let escaped = "";
  let copiedUntil = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (!opens(match.index)) continue;
    escaped += text.slice(copiedUntil, match.index) + (fold(match[0]) === "[" ? "&#91;" : "&lt;");
    copiedUntil = match.index + 1;
  }
  return copiedUntil === 0 ? text : escaped + text.slice(copiedUntil);
}

function createTagFinder(tags: readonly string[]): (text: string, bracketIndex: number) => boolean {
  const names = tags.map((tag) => tag.normalize("NFKC").toLowerCase()).filter((name) => name !== "");
  const initials = names.map((name) => name.charAt(0)).join("");
  const maxChars = names.reduce((longest, name) => Math.max(longest, name.length), 0) + 1;
  return (text, bracketIndex) => {
    const next = text.charAt(bracketIndex + (text.charAt(bracketIndex + 1) === "/" ? 2 : 1));
    if (isVisibleAscii(next) && !"/\\".includes(next) && !initials.includes(next.toLowerCase())) return false;
    const word = readVisible(text, {
      startIndex: skipToName(text, bracketIndex + 1),
      maxChars,
    }).toLowerCase();
    return names.some((name) => word.startsWith(name) && !/\w/.test(word.charAt(name.length)));
  };
}

const TEMPLATE_TOKEN =
  /^(?:<\|[^\s|]{1,64}\|>|<\/?SYS>>|<(?:start|end)_of_turn>|\[\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])/;
const LONGEST_TOKEN_CHARS = 68;

function opensTemplateToken(text: string, bracketIndex: number): boolean {
  const next = text.charAt(bracketIndex + 1);
  if (isVisibleAscii(next) && !"|/SseIAT".includes(next)) return false;
  const bracket = fold(text.charAt(bracketIndex));
  return TEMPLATE_TOKEN.test(
    bracket + readVisible(text, { startIndex: bracketIndex + 1, maxChars: LONGEST_TOKEN_CHARS }),
  );
}

// The one ASCII character behind a bracket rules out nearly every bracket of ordinary text.
function isVisibleAscii(character: string): boolean {
  return character > " " && character < "\x7f";
}

const BETWEEN = /^[\s/\\\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/u;

function skipToName(text: string, startIndex: number): number {
  let index = startIndex;
  while (index < text.length) {
    const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
    if (!BETWEEN.test(fold(character))) break;
    index += character.length;
  }
  return index;
}

const INVISIBLE = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/u;

interface ReadRange {
  readonly startIndex: number;
  readonly maxChars: number;
}

// Stops at the next opening bracket, so that no text is read twice.
function readVisible(text: string, { startIndex, maxChars }: ReadRange): string {
  let word = "";
  for (let index = startIndex; index < text.length && word.length < maxChars; ) {
    const character = String.fromCodePoint(text.codePointAt(index) ?? 0);
    index += character.length;
    const folded = fold(character);
    if (folded === "<" || folded === "[" || /^\s/.test(folded)) break;
    if (!INVISIBLE.test(folded)) word += folded;
  }
  return word;
}

function fold(character: string): string {
  return character < "\x80" ? character : character.normalize("NFKC");
}
