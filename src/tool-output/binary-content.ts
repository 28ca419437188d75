import { normalizeTextWithCounts } from "../text/normalize.ts";
import { headCut } from "../text/truncate.ts";

/** True when so much of the first 8 KB is control or replacement characters that it is unreadable. */
export function looksBinary(content: string | Uint8Array): boolean {
  // Escape sequences, carriage returns and backspaces are what terminals print, so they do not count.
  const { text, removed } = normalizeTextWithCounts(sampleOf(content));
  const unreadable = removed.controls + (text.match(/\ufffd/g)?.length ?? 0);
  const total = removed.controls + text.length;
  if (unreadable <= total * MAX_UNREADABLE_SHARE) return false;
  // A word or two with one bad byte is still text.
  return unreadable >= FEW_CHARS || unreadable > total / 2;
}

/** The type of binary content, from what the tool says or from its first bytes. */
export function binaryType(content: string | Uint8Array, mimeType: unknown): string {
  if (typeof mimeType === "string" && MIME_TYPE.test(mimeType)) return mimeType;
  if (typeof content === "string") return UNKNOWN_TYPE;
  const match = SIGNATURES.find(([, signature]) => signature.every((byte, index) => content[index] === byte));
  return match?.[0] ?? UNKNOWN_TYPE;
}

const SAMPLE_LENGTH = 8_192;
const MAX_UNREADABLE_SHARE = 0.1;
const FEW_CHARS = 4;
const UNKNOWN_TYPE = "unknown type";
const MIME_TYPE = /^[\w.+-]{1,40}\/[\w.+-]{1,80}$/;

function sampleOf(content: string | Uint8Array): string {
  if (typeof content === "string") return content.slice(0, headCut(content, SAMPLE_LENGTH));
  return new TextDecoder().decode(content.subarray(0, SAMPLE_LENGTH));
}

const SIGNATURES: readonly (readonly [type: string, signature: readonly number[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46]],
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/gzip", [0x1f, 0x8b]],
  ["application/zstd", [0x28, 0xb5, 0x2f, 0xfd]],
  ["application/x-xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["application/wasm", [0x00, 0x61, 0x73, 0x6d]],
  ["application/vnd.sqlite3", [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20]],
  ["ELF executable", [0x7f, 0x45, 0x4c, 0x46]],
  ["UTF-16 text", [0xff, 0xfe]],
  ["UTF-16 text", [0xfe, 0xff]],
];
