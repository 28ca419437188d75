import { hashText } from "../hash-text.ts";
import type { SecretSpan } from "./secret-span.ts";

/** Matches, at its last index, what redaction puts in the place of a secret. */
export const PLACEHOLDER: RegExp = /\[REDACTED:[a-z\d-]{1,40}#[\da-f]{4}\]/y;

/** What a placeholder is made from. */
export interface PlaceholderSource {
  readonly secret: string;
  readonly type: string;
  readonly key: string;
}

/** Gives what stands for a secret: its kind and four digits that tell two secrets apart under one key. */
export function placeholderFor({ secret, type, key }: PlaceholderSource): string {
  return `[REDACTED:${type}#${shortHash(`${key}\0${secret}`)}]`;
}

/** Tells whether a span reaches into a placeholder, which is never a secret itself. */
export function touchesPlaceholder(text: string, span: SecretSpan): boolean {
  const before = text.slice(Math.max(0, span.startIndex - MAX_PLACEHOLDER_CHARS), span.startIndex);
  return OPEN_PLACEHOLDER.test(before) || text.slice(span.startIndex, span.endIndex).includes("[REDACTED:");
}

const MAX_PLACEHOLDER_CHARS = 60;
const OPEN_PLACEHOLDER = /\[REDACTED:[a-z\d-]*(?:#[\da-f]*)?$/;

// Sixteen bits say "the same one again" and are too few to test a guess against.
function shortHash(input: string): string {
  const hash = hashText(input);
  return ((hash ^ (hash >>> 16)) & 0xffff).toString(16).padStart(4, "0");
}
