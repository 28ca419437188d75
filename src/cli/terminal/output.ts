import picocolors from "picocolors";
import { oneLine } from "../../text/display.ts";
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

const COMMAND = /\x1b\[(?:1|2|22|31|39)m|\r\n|[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;
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

/** A number with separators for thousands. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

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

/** Prints a value as JSON, for a program to read. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Rows as aligned columns, indented by two spaces; columns of numbers are aligned to the right. */
export function renderTable(rows: Rows): string {
  if (rows.length === 0) return "";
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  // A heading is aligned like the numbers below it.
  const isFigures = widths.map((_, column) => rows.slice(1).every((row) => isFigure(row[column] ?? "")));
  return rows
    .map((row, index) =>
      `  ${row.map((cell, column) => pad(cell, widths[column] ?? 0, index === 0 && rows.length > 1 && isFigures[column] === true)).join("  ")}`.trimEnd(),
    )
    .join("\n");
}

function pad(cell: string, width: number, isAboveFigures: boolean): string {
  return isAboveFigures || isFigure(cell) ? cell.padStart(width) : cell.padEnd(width);
}

function isFigure(cell: string): boolean {
  return /^<?[\d,.]+(?: [a-z]+| %)?$/.test(cell);
}

/** A title and a table below an empty line; no lines at all where there are no rows. */
export function renderSection(title: string, rows: Rows): readonly string[] {
  return rows.length === 0 ? [] : ["", title, renderTable(rows)];
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
