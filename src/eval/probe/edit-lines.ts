import { asObject } from "../../text/unknown-value.ts";
import { unescapeText } from "./history-text.ts";

/** The lines that an edit must repeat exactly: of the text that it replaces, or of a patch's context. */
export function editLines(input: unknown): ReadonlySet<string> {
  const lines = new Set<string>();
  collectReplaced(input, lines);
  for (const key of PATCH_KEYS) collectPatched(asObject(input)[key], lines);
  return lines;
}

const REPLACED_KEYS: ReadonlySet<string> = new Set([
  "old_string",
  "oldString",
  "oldText",
  "old_str",
  "old_text",
]);

const PATCH_KEYS = ["patch", "patchText", "input"] as const;
const MIN_LINE_CHARS = 16;

function collectReplaced(value: unknown, lines: Set<string>): void {
  // Iterating a set includes values added meanwhile, and a cyclic value is visited once.
  const values = new Set<unknown>([value]);
  for (const next of values) {
    for (const [key, inner] of Object.entries(asObject(next))) {
      if (typeof inner === "string" && REPLACED_KEYS.has(key))
        for (const line of inner.split("\n")) addLine(line, lines);
      else values.add(inner);
    }
  }
}

function collectPatched(patch: unknown, lines: Set<string>): void {
  if (typeof patch !== "string" || !patch.includes("*** ")) return;
  for (const line of patch.split("\n")) if (/^[- ]/.test(line)) addLine(line.slice(1), lines);
}

function addLine(line: string, lines: Set<string>): void {
  const text = unescapeText(line).trim();
  if (text.length >= MIN_LINE_CHARS && /[A-Za-z]{3}/.test(text)) lines.add(text);
}
