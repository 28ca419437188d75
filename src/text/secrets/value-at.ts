import type { TextSpan } from "./secret-span.ts";
import type { ValueForm } from "./secret-value.ts";

/** A value found in a text, without its quotes. */
export interface FoundValue extends TextSpan {
  readonly form: ValueForm;
}

/**
 * What surrounds a value: a settings line takes all up to a blank; a parameter ends at its separator; behind a blank
 * an equals sign may stand inside; right behind its separator it may not.
 */
export type ValuePlace = "settings-line" | "parameter" | "spaced" | "tight";

/** Where a value is expected to begin. */
export interface ValueStart {
  readonly index: number;
  readonly place: ValuePlace;
}

/** Reads the value that begins there: in quotes (escaped ones too), or up to where its place ends it. */
export function valueAt(text: string, { index, place }: ValueStart): FoundValue | undefined {
  const ahead = text.slice(index, index + MAX_VALUE_CHARS);
  const opening = OPENING_QUOTE.exec(ahead);
  const value = opening === null ? bareValue(ahead, place) : quotedValue(ahead, opening);
  if (value === undefined) return undefined;
  return { ...value, startIndex: index + value.startIndex, endIndex: index + value.endIndex };
}

const MAX_VALUE_CHARS = 4_096;
const OPENING_QUOTE = /^(?:[bfruL@$]{1,2})?(\\*)(["'`])/;
const UNTIL_BLANK = /^[^\s"'`<>\\]+/;
const UNTIL_END: Readonly<Record<ValuePlace, RegExp>> = {
  "settings-line": UNTIL_BLANK,
  parameter: /^[^\s"'`<>\\;&#,)\]}]+/,
  spaced: /^[^\s"'`<>\\,;&|(){}[\]]+/,
  // Here an equals sign may only pad, or "a=b=c=…" would be read once for each part.
  tight: /^[^\s"'`<>\\,;&|(){}[\]=:]+(?:={1,2}(?![^\s"'`<>\\,;&|(){}[\]]))?/,
};

function bareValue(ahead: string, place: ValuePlace): FoundValue | undefined {
  const whole = UNTIL_END[place].exec(ahead)?.[0] ?? "";
  const next = ahead.charAt(whole.length);
  // An opening bracket makes it a call, an index or a literal.
  if (whole === "" || next === "(" || next === "[" || next === "{") return undefined;
  if (place === "settings-line") return { startIndex: 0, endIndex: whole.length, form: "line" };
  const isClean = place === "parameter" || next === "" || /[\s"'`<\\]/.test(next);
  return { startIndex: 0, endIndex: whole.replace(/[.,:]+$/, "").length, form: isClean ? "line" : "loose" };
}

function quotedValue(ahead: string, opening: RegExpExecArray): FoundValue | undefined {
  const startIndex = opening[0].length;
  const closing = `${opening[1] ?? ""}${opening[2] ?? ""}`;
  let endIndex = ahead.indexOf(closing, startIndex);
  // A longer row of backslashes escapes a quote that belongs to the value.
  while (endIndex > 0 && ahead.charAt(endIndex - 1) === "\\") endIndex = ahead.indexOf(closing, endIndex + 1);
  if (endIndex > startIndex) return { startIndex, endIndex, form: "quoted" };
  if (endIndex === startIndex) return undefined;
  const cut = UNTIL_BLANK.exec(ahead.slice(startIndex))?.[0] ?? "";
  return cut === "" ? undefined : { startIndex, endIndex: startIndex + cut.length, form: "line" };
}
