import type { FilePart } from "../../transcript/part.ts";
import { compact } from "../fields.ts";

/** A file part from what an API says of it. */
export function filePart({ mime, filename, base64, url }: FileFields): FilePart {
  return compact({
    type: "file" as const,
    mime: mime ?? mimeOfUrl(url) ?? "application/octet-stream",
    filename,
    sizeBytes: base64 === undefined ? dataUrlBytes(url) : base64Bytes(base64),
  });
}

export interface FileFields {
  readonly mime?: string | undefined;
  readonly filename?: string | undefined;
  readonly base64?: string | undefined;
  readonly url?: string | undefined;
}

/** True for two files of which all that a transcript knows is the same. */
export function isSameFile(file: FilePart, other: FilePart | undefined): boolean {
  return file.mime === other?.mime && file.filename === other.filename && file.sizeBytes === other.sizeBytes;
}

function mimeOfUrl(url: string | undefined): string | undefined {
  return url === undefined ? undefined : /^data:([^;,]+)/.exec(url.slice(0, 200))?.[1];
}

function dataUrlBytes(url: string | undefined): number | undefined {
  if (url === undefined || !url.startsWith("data:")) return undefined;
  const comma = url.indexOf(",");
  return comma === -1 ? undefined : base64Bytes(url.slice(comma + 1));
}

function base64Bytes(base64: string): number {
  return Math.floor((base64.length * 3) / 4);
}
