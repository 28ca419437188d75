import { safeJson } from "../../text/json.ts";
import { asString, omitUndefined } from "../../text/unknown-value.ts";
import type { FilePart, OpaquePart } from "../../transcript/part.ts";

/** A file part from what an API says of it. Its content is remembered for as long as the part is referenced. */
export function filePart({ mime, filename, base64, url }: FileFields): FilePart {
  const part: FilePart = omitUndefined({
    type: "file" as const,
    mime: mime ?? mimeOfUrl(url) ?? "application/octet-stream",
    filename,
    sizeBytes: base64 === undefined ? dataUrlBytes(url) : base64Bytes(base64),
  });
  const content = base64 ?? url;
  if (content !== undefined) contents.set(part, content);
  return part;
}

interface FileFields {
  readonly mime?: string | undefined;
  readonly filename?: string | undefined;
  readonly base64?: string | undefined;
  readonly url?: string | undefined;
}

function mimeOfUrl(url: string | undefined): string | undefined {
  return url === undefined ? undefined : /^data:([^;,]+)/.exec(url.slice(0, 200))?.[1];
}

function dataUrlBytes(url: string | undefined): number | undefined {
  if (url === undefined || !url.startsWith("data:")) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1) return undefined;
  const data = url.slice(comma + 1);
  return url.slice(0, comma).endsWith(";base64") ? base64Bytes(data) : data.length;
}

function base64Bytes(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}

const contents = new WeakMap<FilePart, string>();

/** The content of a file that was read with its bytes, in base64. */
export function fileBase64(part: FilePart): string | undefined {
  const content = contents.get(part) ?? "";
  const base64 = content.replace(/^data:[^,]{0,200};base64,/, "");
  return /^[A-Za-z0-9+/]{65,}={0,2}$/.test(base64) ? base64 : undefined;
}

/** True for two files with the same type, name and size. */
export function isSameFile(file: FilePart, other: FilePart | undefined): boolean {
  if (other === undefined) return false;
  return file.mime === other.mime && file.filename === other.filename && file.sizeBytes === other.sizeBytes;
}

/** A part that is kept without being understood, named after its type; `content` is what a model reads of it. */
export function opaquePart(type: unknown, content?: unknown): OpaquePart {
  const name = asString(type) ?? "unknown";
  return content === undefined
    ? { type: "opaque", name }
    : { type: "opaque", name, chars: safeJson(content).length };
}
