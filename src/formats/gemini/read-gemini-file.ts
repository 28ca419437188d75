import type { FilePart } from "../../transcript/part.ts";
import { filePart } from "../blocks/file-part.ts";
import { fields, stringField } from "../fields.ts";

/** A file part of inline or stored data; total. */
export function readGeminiFile(part: unknown): FilePart {
  const { inlineData, fileData } = fields(part);
  const data = fields(inlineData ?? fileData);
  return filePart({
    mime: stringField(data.mimeType) ?? stringField(data.mime_type),
    filename: stringField(data.displayName) ?? stringField(data.fileUri),
    base64: stringField(data.data),
  });
}
