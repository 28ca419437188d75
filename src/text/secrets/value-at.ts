import type { ValueForm } from "./secret-value.ts";

/** A value found in a text, without its quotes. */
export interface FoundValue {
  readonly startIndex: number;
  readonly endIndex: number;
  readonly form: ValueForm;
}

/** What surrounds a value: a settings line takes all up to a blank; a parameter ends at its separator; after a blank an equals sign may stand inside. */
export type ValuePlace = "settings-line" | "parameter" | "spaced" | "tight";

/** Reads the value that begins at the index: in quotes (escaped ones too), or up to where its place ends it. */
export function valueAt(text: string, index: number, place: ValuePlace): FoundValue | undefined {
  const ahead = text.slice(index, index + MAX_VALUE_CHARS);
  const opening = OPENING_QUOTE.exec(ahead);
  if (opening !== null) return quotedValue(ahead, index, opening);

  const whole = UNTIL_END[place].exec(ahead)?.[0] ?? "";
  const next = ahead.charAt(whole.length);
  // An opening bracket makes it a call, an index or a literal.
  if (whole === "" || next === "(" || next === "[" || next === "{") return undefined;
  const value = place === "settings-line" ? whole : whole.replace(/[.,:]+$/, "");
  const isClean =
    place === "settings-line" || place === "parameter" || next === "" || /[\s"'`<\\]/.test(next);
  return { startIndex: index, endIndex: index + value.length, form: isClean ? "line" : "loose" };
}

const MAX_VALUE_CHARS = 4_096;
const OPENING_QUOTE = /^(?:[bfruL@$]{1,2})?(\\*)(["'`])/;
const UNTIL_BLANK = /^[^\s"'`<>\\]+/;
const UNTIL_END: Readonly<Record<ValuePlace, RegExp>> = {
  "settings-line": UNTIL_BLANK,
  parameter: /^[^\s"'`<>\\;&#,)\]}]+/,
  spaced: /^[^\s"'`<>\\,;&|(){}[\]]+/,
  // Here an equals sign or colon may only pad, or "a=b=c=…" would be read once for each part.
  tight: /^[^\s"'`<>\\,;&|(){}[\]=:]+(?:={1,2}(?![^\s"'`<>\\,;&|(){}[\]]))?/,
};

function quotedValue(ahead: string, index: number, opening: RegExpExecArray): FoundValue | undefined {
  const startChars = opening[0].length;
  const closing = `${opening[1] ?? ""}${opening[2] ?? ""}`;
  let endChars = ahead.indexOf(closing, startChars);
  // A longer row of backslashes escapes a quote that belongs to the value.
  while (endChars > 0 && ahead.charAt(endChars - 1) === "\\") endChars = ahead.indexOf(closing, endChars + 1);
  if (endChars < 0) {
    const cut = UNTIL_BLANK.exec(ahead.slice(startChars))?.[0] ?? "";
    if (cut === "") return undefined;
    return { startIndex: index + startChars, endIndex: index + startChars + cut.length, form: "line" };
  }
  if (endChars === startChars) return undefined;
  return { startIndex: index + startChars, endIndex: index + endChars, form: "quoted" };
}
