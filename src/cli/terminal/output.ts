import picocolors from "picocolors";
import { oneLine } from "../../text/clip.ts";
import { formatNumber } from "../../text/format-number.ts";
import { normalizeText } from "../../text/normalize.ts";
import { redactSecrets } from "../../text/secrets/redact-secrets.ts";
import { headCut, tailCut } from "../../text/truncate.ts";

/**
 * Lets nothing through to a stream that a terminal would obey: every control character but line breaks and tabs, and every
 * mark that turns text around, is written as its escape, which in JSON means the same. A terminal gets our own colours.
 */
export function guardStream(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream);
  unguarded.set(stream, write);
  const guarded = (chunk: string | Uint8Array, ...rest: []): boolean =>
    write(typeof chunk === "string" ? escapeCommands(chunk, stream.isTTY === true) : chunk, ...rest);
  stream.write = guarded as typeof stream.write;
}

/** How to write to a guarded stream what is ours. */
const unguarded = new WeakMap<NodeJS.WriteStream, NodeJS.WriteStream["write"]>();

/** The text with every character as an escape that a terminal would obey. */
export function escapeCommands(text: string, keepsOwnStyles: boolean): string {
  return text.replace(COMMAND, (found) => {
    if (found.length > 1 && (keepsOwnStyles || found === "\r\n")) return found;
    return Array.from(found, (each) =>
      PLAIN.test(each) ? each : `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ).join("");
  });
}

const COMMAND =
  /\x1b\[(?:1|2|22|31|39)m|\r\n|[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const PLAIN = /[ -~]/;

/** Untrusted text made safe for the terminal: one line without escape sequences and secrets, cut at its end. */
export function terminalText(text: string, maxChars: number): string {
  const line = plainLine(text, maxChars);
  return line.length <= maxChars ? line : `${line.slice(0, headCut(line, maxChars - 1))}…`;
}

/** Like `terminalText`, but cut at the beginning, since the end of a path says most. */
export function terminalPath(path: string, maxChars: number): string {
  const line = plainLine(path, Number.POSITIVE_INFINITY);
  return line.length <= maxChars ? line : `…${line.slice(tailCut(line, line.length - maxChars + 1))}`;
}

/** Redacts before the caller cuts, so that no part of a secret is left; text far behind the cut is not scanned. */
function plainLine(text: string, maxChars: number): string {
  const near = text.slice(0, Math.min(MAX_READ_CHARS, maxChars * 4 + MAX_SECRET_CHARS));
  return oneLine(redactSecrets(normalizeText(near)));
}

const MAX_SECRET_CHARS = 8_192;
const MAX_READ_CHARS = 65_536;

/** A number of things, the noun in the plural unless it is one. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A share in percent; `<1 %` for one that is not zero but would round to it. */
export function formatPercent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const percent = Math.round((100 * part) / whole);
  return percent === 0 ? "<1 %" : `${percent} %`;
}

/** Prints what a command says as JSON, for a program to read. */
export function printJson(value: object): void {
  process.stdout.write(jsonText(value));
}

/** The JSON of what a command says, with the version of its schema, which `docs/schema` publishes. */
export function jsonText(value: object): string {
  return `${JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...value }, null, 2)}\n`;
}

/** Grows when a field is taken away or means something else; new fields may come at any time. */
const SCHEMA_VERSION = 1;

/**
 * Rows as aligned columns, indented by two spaces; columns of numbers are aligned to the right. On a terminal that is
 * narrower, the widest columns of texts are cut, where a screen is given: what may be copied is not.
 */
export function renderTable(given: Rows, { isTTY, columns: room }: Screen = {}): string {
  if (given.length === 0) return "";
  const columns = Math.max(...given.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...given.map((row) => displayWidth(row[column] ?? ""))),
  );
  const isTexts = widths.map((_, column) => given.some((row) => !isFigure(row[column] ?? "0")));
  if (isTTY === true && room !== undefined) narrow(widths, { isTexts, room });
  const rows = given.map((row) => row.map((cell, column) => cutToWidth(cell, widths[column] ?? 0)));
  // A heading is aligned like the numbers below it.
  const isFigures = widths.map((_, column) => rows.slice(1).every((row) => isFigure(row[column] ?? "")));
  return rows
    .map((row, index) =>
      `  ${row.map((cell, column) => pad(cell, widths[column] ?? 0, index === 0 && rows.length > 1 && isFigures[column] === true)).join("  ")}`.trimEnd(),
    )
    .join("\n");
}

/** Takes from the widest columns of texts until a row fits, or all are as narrow as can be read. */
function narrow(
  widths: number[],
  { isTexts, room }: { readonly isTexts: readonly boolean[]; readonly room: number },
): void {
  const rowWidth = (): number => widths.reduce((sum, width) => sum + width + 2, 0);
  while (rowWidth() > room) {
    const texts = widths.map((width, column) => (isTexts[column] ? width : 0));
    const widest = texts.indexOf(Math.max(...texts));
    if ((texts[widest] ?? 0) <= MIN_CELL_COLUMNS) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

const MIN_CELL_COLUMNS = 8;

/** A stream, as far as its width matters. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** How many columns of a terminal a text takes: two for what is drawn wide, none for what is drawn over another. */
export function displayWidth(text: string): number {
  // The common case, which is all that most tables hold.
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text.replace(STYLES, ""))
    width += ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

const ZERO = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** East Asian scripts, their punctuation and forms, and pictures. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{20000}-\u{3fffd}]$/u;

/** A text cut at its end so that it takes no more columns. */
export function cutToWidth(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [cut, width] = ["", 0];
  for (const character of text.replace(STYLES, "")) {
    width += displayWidth(character);
    if (width > columns - 1) break;
    cut += character;
  }
  return `${cut}…`;
}

function pad(cell: string, width: number, isAboveFigures: boolean): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(cell)));
  return isAboveFigures || isFigure(cell) ? `${blanks}${cell}` : `${cell}${blanks}`;
}

function isFigure(cell: string): boolean {
  return /^<?\$?[\d,.]+(?: [a-z]+| %)?$/.test(cell);
}

/**
 * Sentences broken between words at the width of a terminal; any other stream gets them as they are. Lines that
 * begin with a blank are rows and commands, which stay whole unless `indent` says where their text begins.
 */
export function wrapped(
  text: string,
  { isTTY, columns = 0 }: { readonly isTTY?: boolean; readonly columns?: number },
  indent = 0,
): string {
  if (isTTY !== true || columns < indent + MIN_COLUMNS) return text;
  const wrap = (line: string): string =>
    line.startsWith(" ") && indent === 0 ? line : wrapLine(line, columns, indent);
  return text.split("\n").map(wrap).join("\n");
}

const MIN_COLUMNS = 20;

function wrapLine(line: string, columns: number, indent: number): string {
  const done: string[] = [];
  let rest = line;
  while (visibleChars(rest) > columns) {
    const until = columns + rest.length - visibleChars(rest);
    const before = rest.lastIndexOf(" ", until);
    const at = before > indent ? before : rest.indexOf(" ", Math.max(until, indent));
    if (at === -1) break;
    done.push(rest.slice(0, at).trimEnd());
    rest = `${" ".repeat(indent)}${rest.slice(at + 1).trimStart()}`;
  }
  return [...done, rest].join("\n");
}

/** Without our own colours. */
const visibleChars = (line: string): number => line.replace(STYLES, "").length;

const STYLES = /\x1b\[\d+m/g;

/** A title and a table below an empty line; no lines at all where there are no rows. */
export function renderSection(title: string, rows: Rows, screen: Screen = {}): readonly string[] {
  return rows.length === 0 ? [] : ["", title, renderTable(rows, screen)];
}

type Rows = readonly (readonly string[])[];

/** The styles that the command line uses. */
export interface Colors {
  bold(text: string): string;
  red(text: string): string;
  dim(text: string): string;
}

/** Colours for a stream: none unless it is a terminal, and none where NO_COLOR is set. */
export function colorsFor(stream: { readonly isTTY?: boolean }): Colors {
  return picocolors.createColors(stream.isTTY === true && process.env.NO_COLOR === undefined);
}

/** A line on standard error that says what is being done, from the second on that it takes. */
interface ProgressLine {
  /** Announces the next step; before it begins, since it may block the thread. */
  show(text: string): void;
  end(): void;
}

/** A progress line: replaced in place and erased at the end on a terminal, else one line for each step. */
export function createProgressLine(stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  const startedAtMs = performance.now();
  const startLine = (line: string): void => {
    // Erasing is ours alone: what a session holds could hide the line above it.
    (unguarded.get(stream) ?? stream.write.bind(stream))("\r\x1b[K");
    stream.write(line);
  };
  let text = "";
  let shown = "";
  const update = (): void => {
    const seconds = Math.floor((performance.now() - startedAtMs) / 1000);
    if (text === "" || seconds < 1) return;
    if (stream.isTTY) startLine(`${text} (${seconds} s)`);
    else if (shown !== text) stream.write(`${text}\n`);
    shown = text;
  };
  const timer = setInterval(update, 1000);
  timer.unref();
  return {
    show(next) {
      text = next;
      update();
    },
    end() {
      clearInterval(timer);
      if (stream.isTTY && shown !== "") startLine("");
      text = "";
    },
  };
}
