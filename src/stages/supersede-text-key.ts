/**
 * A short key that equal texts share, made from every character in one pass.
 * Different texts may share one too, so a match must still be compared.
 */
export function textKey(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return `${text.length}:${hash >>> 0}`;
}
