import { fields, stringField } from "../../../formats/fields.ts";

/** The files that a call of one of the host's tools writes, as the call names them. */
export function writtenFiles(tool: string, input: unknown): readonly string[] {
  const { filePath, path, patchText } = fields(input);
  if (WRITING_TOOLS.has(tool)) {
    const file = stringField(filePath) ?? stringField(path);
    return file === undefined ? [] : [file];
  }
  if (tool !== "apply_patch" && tool !== "patch") return [];
  return [...(stringField(patchText) ?? "").matchAll(PATCHED_FILE)].map((match) => (match[1] ?? "").trim());
}

const WRITING_TOOLS: ReadonlySet<string> = new Set(["write", "edit", "multiedit"]);

const PATCHED_FILE = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;
