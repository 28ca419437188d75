/** A number of 32 bits made from a text: the same on every machine, enough to tell texts apart, not to keep one secret. */
export function hashText(text: string): number {
  // FNV-1a over UTF-16 units: small and even.
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
