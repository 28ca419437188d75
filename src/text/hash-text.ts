/** A hash of 32 bits, the same on every machine; not for secrets. */
export function hashText(text: string): number {
  // FNV-1a over UTF-16 units.
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
