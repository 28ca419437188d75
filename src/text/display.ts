import { headCut } from "./truncate.ts";

/** A text on one line: every run of whitespace becomes one space, none at the ends. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** A text on one line of at most `maxChars`. What lies far behind the limit is not read, so a huge text costs little. */
export function clipLine(text: string, maxChars: number): string {
  return clip(oneLine(text.slice(0, maxChars * 4 + 64)), maxChars);
}

/** At most `maxChars` from the head of a text, the last three of them dots when something is left out. */
export function clip(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars <= ELLIPSIS.length) return "";
  return text.slice(0, headCut(text, maxChars - ELLIPSIS.length)) + ELLIPSIS;
}

export const ELLIPSIS = "...";

/** A count with its noun: `1 line`, `2 lines`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A number of bytes as people read it. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

/** What a thrown value says; never throws itself. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "threw something that cannot be read";
  }
}
