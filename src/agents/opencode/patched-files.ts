import { asString } from "../../text/unknown-value.ts";

/** The files that a patch names. */
export function patchedFiles(patchText: unknown): readonly string[] {
  return [...(asString(patchText) ?? "").matchAll(PATCHED_FILE)].map((match) => (match[1] ?? "").trim());
}

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;
