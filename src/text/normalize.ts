/** The text that a terminal would show: without escape sequences, overwritten lines and invisible characters; the same reference when nothing changes. */
export function normalizeText(text: string): string {
  return isNormal(text) ? text : normalizeTextWithCounts(text).text;
}

/** How many of each kind normalizing removed. */
export interface RemovedCounts {
  readonly escapeSequences: number;
  readonly overwrites: number;
  readonly controls: number;
  readonly invisible: number;
  readonly loneSurrogates: number;
}

/** A normalized text and what was removed from it. */
interface NormalizedText {
  readonly text: string;
  readonly removed: RemovedCounts;
}

/** Like `normalizeText`, with the number of removed pieces of each kind. */
export function normalizeTextWithCounts(text: string): NormalizedText {
  if (isNormal(text)) return { text, removed: NOTHING_REMOVED };

  // Surrogates come first: removing what stands between two halves must not make a pair of them.
  const wellFormed = toWellFormed(text);
  const loneSurrogates = wellFormed === text ? 0 : countMatches(text, LONE_SURROGATE);
  const stripped = stripEscapes(wellFormed);
  // Invisible characters go before overwritten lines: "text\r<zero width>\n" must not hide the text.
  const visible = dropInvisible(stripped.text);
  const resolved = resolveOverwrites(visible.text);
  // A backspace can cut an emoji sequence and leave its joiner behind.
  const settled =
    resolved.count === 0 ? { text: resolved.text, controls: 0, invisible: 0 } : dropInvisible(resolved.text);

  return {
    text: settled.text,
    removed: {
      escapeSequences: stripped.count,
      overwrites: resolved.count,
      controls: visible.controls + settled.controls,
      invisible: visible.invisible + settled.invisible,
      loneSurrogates,
    },
  };
}

/** Replaces lone surrogates and nothing else; the same reference when there is none. */
export function toWellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

const NOTHING_REMOVED: RemovedCounts = {
  escapeSequences: 0,
  overwrites: 0,
  controls: 0,
  invisible: 0,
  loneSurrogates: 0,
};

const CONTROL = "\\0-\\x07\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f";
const INVISIBLE =
  "\\xad\\u061c\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff\\ufff9-\\ufffb";
const SUSPICIOUS = new RegExp(`[${CONTROL}\\x08${INVISIBLE}\\udb40]|\\r(?!\\n)`);

function isNormal(text: string): boolean {
  return !SUSPICIOUS.test(text) && text.isWellFormed();
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function countMatches(text: string, pattern: RegExp): number {
  let count = 0;
  text.replace(pattern, (match) => {
    count++;
    return match;
  });
  return count;
}

// Every payload class excludes the characters that open a sequence, so that unterminated ones are scanned once.
// A title or link ends with its line at the latest: it is safer to show too much than to remove text.
const ESCAPE_SEQUENCE = new RegExp(
  [
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]?",
    "(?:\\x1b\\]|\\x9d)[^\\x07\\n\\x1b\\x90\\x98\\x9b-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)?",
    "(?:\\x1b[PX^_]|[\\x90\\x98\\x9e\\x9f])[^\\x07\\x1b\\x90\\x98\\x9b-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)",
    "(?:\\x1b[PX^_]|[\\x90\\x98\\x9e\\x9f])[^\\x07\\n\\x1b\\x90\\x98\\x9b-\\x9f]*",
    "\\x1b[ -/]*[0-~]?",
  ].join("|"),
  "g",
);

function stripEscapes(text: string): { readonly text: string; readonly count: number } {
  let count = 0;
  const stripped = text.replace(ESCAPE_SEQUENCE, () => {
    count++;
    return "";
  });
  return { text: stripped, count };
}

const DROPPED = new RegExp(`[${CONTROL}${INVISIBLE}]|\\udb40[\\udc00-\\udfff]`, "g");
const PICTOGRAPH = /\p{Extended_Pictographic}/u;
export const ZERO_WIDTH_JOINER = "\u200d";
export const TEXT_STYLE = "\ufe0e";
export const EMOJI_STYLE = "\ufe0f";
export const KEYCAP = "\u20e3";

function dropInvisible(text: string): {
  readonly text: string;
  readonly controls: number;
  readonly invisible: number;
} {
  let controls = 0;
  let invisible = 0;
  let before = "";
  let droppedUntil = 0;
  const kept = text.replace(DROPPED, (match: string, index: number) => {
    // Use the character that precedes in the result, so that a second pass decides the same.
    if (index > droppedUntil) before = codePointBefore(text, index);
    const after = text.slice(index + match.length, index + match.length + 2);
    droppedUntil = index + match.length;
    if (belongsToEmoji({ match, before, after })) {
      before = match;
      return match;
    }
    if (match <= "\x9f") controls++;
    else invisible++;
    return "";
  });
  return controls + invisible === 0 ? { text, controls, invisible } : { text: kept, controls, invisible };
}

interface InvisibleInPlace {
  readonly match: string;
  readonly before: string;
  readonly after: string;
}

function belongsToEmoji({ match, before, after }: InvisibleInPlace): boolean {
  switch (match) {
    case ZERO_WIDTH_JOINER:
      return isEmojiEnd(before) && PICTOGRAPH.test(String.fromCodePoint(after.codePointAt(0) ?? 0));
    case TEXT_STYLE:
      return PICTOGRAPH.test(before);
    case EMOJI_STYLE:
      return PICTOGRAPH.test(before) || (/[0-9#*]/.test(before) && after.startsWith(KEYCAP));
    default:
      return false;
  }
}

function isEmojiEnd(character: string): boolean {
  return character === EMOJI_STYLE || PICTOGRAPH.test(character) || /\p{Emoji_Modifier}/u.test(character);
}

function codePointBefore(text: string, index: number): string {
  const unit = text.charCodeAt(index - 1);
  const isTrail = unit >= 0xdc00 && unit <= 0xdfff;
  return text.slice(Math.max(0, index - (isTrail ? 2 : 1)), index);
}

const OVERWRITTEN_LINE = /\x08|\r(?!\n)/;

function resolveOverwrites(text: string): { readonly text: string; readonly count: number } {
  if (!OVERWRITTEN_LINE.test(text)) return { text, count: 0 };
  let count = 0;
  const resolved = text.replace(/[^\n]+\n?/g, (line) => {
    if (!OVERWRITTEN_LINE.test(line)) return line;
    const ending = line.endsWith("\r\n") ? "\r\n" : line.endsWith("\n") ? "\n" : "";
    const body = line.slice(0, line.length - ending.length);
    count += countMatches(body, /[\b\r]/g);
    return lastState(body) + ending;
  });
  return { text: resolved, count };
}

function lastState(line: string): string {
  const states = line.split("\r");
  for (let index = states.length - 1; index >= 0; index--) {
    const state = eraseBackspaced(states[index] ?? "");
    if (state !== "") return state;
  }
  return "";
}

function eraseBackspaced(state: string): string {
  if (!state.includes("\b")) return state;
  const kept: string[] = [];
  for (const character of state) {
    if (character === "\b") kept.pop();
    else kept.push(character);
  }
  return kept.join("");
}

/** Text that a person typed, made safe to send: well-formed, no control characters. Joiners and direction marks stay, since some languages are written with them. */
export function normalizeTypedText(text: string): string {
  return isMalformed(text) ? text.toWellFormed().replace(REFUSED_CONTROLS, "") : text;
}

/** True for text that a provider may refuse: lone surrogates, NUL and other control characters. */
export function isMalformed(text: string): boolean {
  return REFUSED_CONTROL.test(text) || !text.isWellFormed();
}

const REFUSED_CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const REFUSED_CONTROLS = new RegExp(REFUSED_CONTROL, "g");

/** Like `normalizeTextWithCounts`, in pieces of whole lines where possible, so that a huge text needs little memory. */
export function normalizeByLines(text: string, pieceChars: number = PIECE_CHARS): NormalizedText {
  if (text.length <= pieceChars || MULTI_LINE_SEQUENCE.test(text)) return normalizeTextWithCounts(text);
  const texts: string[] = [];
  let removed = NOTHING_REMOVED;
  for (let start = 0; start < text.length; ) {
    const end = endOfLine(text, start + pieceChars);
    const piece = normalizeTextWithCounts(text.slice(start, end));
    texts.push(piece.text);
    removed = addRemovedCounts(removed, piece.removed);
    start = end;
  }
  return { text: texts.join(""), removed };
}

/** The sum of two counts. */
export function addRemovedCounts(first: RemovedCounts, second: RemovedCounts): RemovedCounts {
  return {
    escapeSequences: first.escapeSequences + second.escapeSequences,
    overwrites: first.overwrites + second.overwrites,
    controls: first.controls + second.controls,
    invisible: first.invisible + second.invisible,
    loneSurrogates: first.loneSurrogates + second.loneSurrogates,
  };
}

const PIECE_CHARS = 262_144;

// Only these sequences can reach over a line end.
const MULTI_LINE_SEQUENCE = /\x1b[PX^_]|[\x90\x98\x9e\x9f]/;

function endOfLine(text: string, index: number): number {
  const lineBreak = text.indexOf("\n", index);
  return lineBreak < 0 ? text.length : lineBreak + 1;
}

/**
 * Normalizes the output of a program. Separators that a terminal would hide (NUL, carriage return) become line breaks
 * where they separate lines or names.
 */
export function normalizeOutput(text: string): string {
  return normalizeByLines(separatorsAsLineBreaks(text)).text;
}

function separatorsAsLineBreaks(text: string): string {
  if (!text.includes("\0") && !text.includes("\r")) return text;
  const sample = text.slice(0, SAMPLE_CHARS);
  const nuls = sample.split("\0").length - 1;
  // A NUL between the fields of one line is not the end of a line: breaking there would tear the lines.
  const between = nuls > sample.split("\n").length * NULS_A_LINE ? "\n" : " ";
  const lines = nuls > 0 && nuls < sample.length * MAX_NUL_SHARE ? text.replaceAll("\0", between) : text;
  return isProgress(sample) ? lines : lines.replace(CARRIAGE_RETURN, "\n");
}

/** UTF-16 text has a higher share of NULs; there they are removed, not turned into line breaks. */
const MAX_NUL_SHARE = 0.2;
/** More NULs per line than this separate names, each of which becomes a line; fewer separate the fields of a line. */
const NULS_A_LINE = 1;
const SAMPLE_CHARS = 50_000;
const CARRIAGE_RETURN = /\r(?!\n)/g;

/**
 * True for progress output, where a carriage return rewrites the same line. False where most carriage returns are
 * followed by different words: a terminal would show only the last of them.
 */
function isProgress(sample: string): boolean {
  const states = sample.split(CARRIAGE_RETURN);
  const different = new Set(states.map((state) => state.replace(/[^\p{L}]+/gu, " ").trim()));
  return states.length < MIN_STATES || different.size <= states.length / 2;
}

const MIN_STATES = 8;
