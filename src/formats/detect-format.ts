import { asObject, isObject } from "../text/unknown-value.ts";
import { detectMessages, detectRequest } from "../transcript/foreign-messages.ts";
import { type FormatName, SESSION_FORMATS, type SessionFormat, type SessionFormatName } from "./registry.ts";

/** The format of a file, and by what it was recognized. */
export type DetectedFormat =
  | { readonly format: FormatName; readonly reason: string }
  | { readonly format: "unknown"; readonly reason: string };

/** A file as far as it is known: its first lines, parsed, or the one value that it holds. */
export type FormatSample =
  | { readonly type: "lines"; readonly lines: readonly unknown[] }
  | { readonly type: "document"; readonly value: unknown };

/** Tells the format of a file by names that only this format uses; when in doubt, "unknown". */
export function detectFormat(sample: FormatSample): DetectedFormat {
  const detected = sample.type === "lines" ? detectLines(sample.lines) : detectDocument(sample.value);
  if (detected === undefined)
    return { format: "unknown", reason: "nothing in it belongs to a format that is known here" };
  const { format, reason } = detected;
  return { format, reason };
}

type Found = DetectedFormat | undefined;

/** The line that decides is not always the first: some agents begin with notes. */
function detectLines(lines: readonly unknown[]): Found {
  for (const line of lines) {
    const read = asObject(line);
    const detected = ask(({ detectLine }) => detectLine?.(read));
    if (detected !== undefined) return detected;
  }
  const [only] = lines;
  return lines.length === 1 ? detectDocument(only) : undefined;
}

function detectDocument(value: unknown): Found {
  if (Array.isArray(value)) return detectMessages(value);
  if (!isObject(value)) return undefined;
  return ask(({ detectDocument }) => detectDocument?.(value)) ?? detectRequest(value);
}

/** The first session format that recognizes something. */
function ask(recognize: (format: SessionFormat) => string | undefined): Found {
  for (const name of Object.keys(SESSION_FORMATS) as SessionFormatName[]) {
    const reason = recognize(SESSION_FORMATS[name]);
    if (reason !== undefined) return { format: name, reason };
  }
  return undefined;
}
