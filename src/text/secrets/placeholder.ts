import { hashText } from "../hash-text.ts";
import type { SecretSpan } from "./secret-value.ts";

/** What stands for a secret: its type, and four digits that tell two secrets apart under one key. */
export function placeholderFor({
  secret,
  type,
  key,
}: Readonly<Record<"secret" | "type" | "key", string>>): string {
  // 16 bits are enough to recognize the same secret again, and too few to verify a guess.
  const hash = hashText(`${key}\0${secret}`);
  const digits = ((hash ^ (hash >>> 16)) & 0xffff).toString(16).padStart(4, "0");
  return `[REDACTED:${type}#${digits}]`;
}

/** True for a span that overlaps a placeholder, which is never a secret itself. */
export function touchesPlaceholder(text: string, span: SecretSpan): boolean {
  const before = text.slice(Math.max(0, span.startIndex - MAX_PLACEHOLDER_CHARS), span.startIndex);
  return OPEN_PLACEHOLDER.test(before) || text.slice(span.startIndex, span.endIndex).includes("[REDACTED:");
}

const MAX_PLACEHOLDER_CHARS = 60;
const OPEN_PLACEHOLDER = /\[REDACTED:[a-z\d-]*(?:#[\da-f]*)?$/;

/** Matches, at its last index, what redaction puts in the place of a secret. */
export const PLACEHOLDER: RegExp = /\[REDACTED:[a-z\d-]{1,40}#[\da-f]{4}\]/y;
