import { hashText } from "../text/hash-text.ts";

/**
 * A short key that equal texts share, made from every character in one pass.
 * Different texts may share one too, so a match must still be compared.
 */
export function textKey(text: string): string {
  return `${text.length}:${hashText(text)}`;
}
