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

export const STYLES: RegExp = /\x1b\[\d+m/g;
