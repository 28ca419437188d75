import { fields } from "../formats/fields.ts";
import { unescapeText } from "./unescape-text.ts";

/** The lines that an edit must repeat word for word: of the text it replaces, or of a patch's context. */
export function editLines(input: unknown): ReadonlySet<string> {
  const lines = new Set<string>();
  collectReplaced(input, lines);
  for (const key of PATCH_KEYS) collectPatched(fields(input)[key], lines);
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
  const waiting: unknown[] = [value];
  const seen = new Set<unknown>();
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    for (const [key, inner] of Object.entries(next)) {
      if (typeof inner === "string" && REPLACED_KEYS.has(key))
        for (const line of inner.split("\n")) addLine(line, lines);
      else waiting.push(inner);
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
