import picocolors from "picocolors";
import { normalizeText } from "../../text/normalize.ts";
import { redactSecrets } from "../../text/secrets/redact-secrets.ts";
import { headCut, tailCut } from "../../text/truncate.ts";

/** Text from outside for one place on a screen: one line, no escape sequences, no secrets, the beginning kept. */
export function terminalText(text: string, maxChars: number): string {
  const line = plainLine(text, maxChars);
  return line.length <= maxChars ? line : `${line.slice(0, headCut(line, maxChars - 1))}…`;
}

/** The same for a path, of which the end says most. */
export function terminalPath(path: string, maxChars: number): string {
  const line = plainLine(path, Number.POSITIVE_INFINITY);
  return line.length <= maxChars ? line : `…${line.slice(tailCut(line, line.length - maxChars + 1))}`;
}

/** A secret is redacted whole before the line is cut; what lies far behind the cut is not looked at. */
function plainLine(text: string, maxChars: number): string {
  const near = text.slice(0, Math.min(MAX_READ_CHARS, maxChars * 4 + MAX_SECRET_CHARS));
  return redactSecrets(normalizeText(near)).replace(/\s+/g, " ").trim();
}

const MAX_SECRET_CHARS = 8_192;
const MAX_READ_CHARS = 65_536;

/** A number as people write it. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US");
}

/** A number of things, the word in the plural where there is not exactly one. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A part of a whole in percent; less than half a percent that is not nothing is `<1`. */
export function formatPercent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const percent = Math.round((100 * part) / whole);
  return percent === 0 ? "<1 %" : `${percent} %`;
}

/** Rows as aligned columns, two spaces in; columns of figures are set to the right. */
export function renderTable(
  rows: readonly (readonly string[])[],
  { empty = "" }: { readonly empty?: string } = {},
): string {
  if (rows.length === 0) return empty;
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  // A heading stands above its figures.
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

/** The few ways in which the command line stresses a word. */
export interface Colors {
  bold(text: string): string;
  red(text: string): string;
  dim(text: string): string;
}

/** Colours for a stream: only on a terminal, and not when NO_COLOR asks for none. */
export function colorsFor(stream: { readonly isTTY?: boolean }): Colors {
  return picocolors.createColors(stream.isTTY === true && process.env.NO_COLOR === undefined);
}

/** Says on standard error what is being done, once it takes more than a second. */
interface ProgressLine {
  /** What comes next; work that blocks the thread can only be announced before it begins. */
  say(text: string): void;
  end(): void;
}

/** On a terminal one line that changes and goes away; elsewhere a line for each thing said. */
export function createProgressLine(stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  const startedAtMs = performance.now();
  let text = "";
  let shown = "";
  const show = (): void => {
    const seconds = Math.floor((performance.now() - startedAtMs) / 1000);
    if (text === "" || seconds < 1) return;
    if (stream.isTTY) stream.write(`\r\x1b[K${text} (${seconds} s)`);
    else if (shown !== text) stream.write(`${text}\n`);
    shown = text;
  };
  const timer = setInterval(show, 1000);
  timer.unref();
  return {
    say(next) {
      text = next;
      show();
    },
    end() {
      clearInterval(timer);
      if (stream.isTTY && shown !== "") stream.write("\r\x1b[K");
      text = "";
    },
  };
}
