import { STYLES } from "./wrap.ts";

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

/** A title and a table below an empty line; no lines at all where there are no rows. */
export function renderSection(title: string, rows: Rows, screen: Screen = {}): readonly string[] {
  return rows.length === 0 ? [] : ["", title, renderTable(rows, screen)];
}

type Rows = readonly (readonly string[])[];
