import { isGenerated, type SecretSpan } from "./secret-value.ts";

/** Finds a private member of a JSON web key, from the colon behind its name. */
export function matchKeyMember(text: string, colonIndex: number): SecretSpan | undefined {
  const quote = text.charCodeAt(colonIndex - 1);
  if (quote !== DOUBLE_QUOTE && quote !== SINGLE_QUOTE) return undefined;
  if (!/["'](?:[dkpq]|d[pq]|qi)\\*["']{1,2}$/.test(text.slice(Math.max(0, colonIndex - 8), colonIndex)))
    return undefined;
  const ahead = text.slice(colonIndex, colonIndex + MAX_KEY_CHARS);
  const [whole, value = ""] = /^:\s*\\*["']{1,2}([\w-]{16,})/.exec(ahead) ?? [];
  if (whole === undefined || !isGenerated(value, 4)) return undefined;
  if (!text.slice(Math.max(0, colonIndex - MAX_KEY_CHARS), colonIndex + MAX_KEY_CHARS).includes("kty"))
    return undefined;
  const endIndex = colonIndex + whole.length;
  return { startIndex: endIndex - value.length, endIndex, type: "private-key" };
}

/** Finds a key written as the list of its 64 bytes, from the opening bracket. */
export function matchKeyBytes(text: string, bracketIndex: number): SecretSpan | undefined {
  KEY_BYTES.lastIndex = bracketIndex;
  const list = KEY_BYTES.exec(text)?.[0] ?? "";
  const bytes = new Set(list.match(/\d+/g)?.map(Number));
  // Tables of constants hold small or few numbers.
  const largest = Math.max(...bytes);
  if (bytes.size < 40 || largest < 192 || largest > 255) return undefined;
  return { startIndex: bracketIndex + 1, endIndex: bracketIndex + list.length - 1, type: "private-key" };
}

const SINGLE_QUOTE = "'".charCodeAt(0);
const MAX_KEY_CHARS = 2_048;
const KEY_BYTES = /\[\s*(?:\d{1,3}\s*,\s*){63}\d{1,3}\s*\]/y;
const DOUBLE_QUOTE = '"'.charCodeAt(0);
