import { createHash } from "node:crypto";

/** Any text as PostgreSQL can hold it, NUL and lone surrogates included; no two texts come out alike. */
export function storableText(text: string): string {
  return JSON.stringify(text);
}

/** The text that was made storable. */
export function originalText(stored: string): string {
  return JSON.parse(stored) as string;
}

/** A key of fixed size for a text of any length, since an index takes no long ones. */
export function textKey(text: string): Buffer {
  return createHash("sha256").update(storableText(text)).digest();
}
