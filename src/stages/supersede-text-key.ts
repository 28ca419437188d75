/**
 * A short key that equal texts share, from their length and every character.
 * Different texts may share one too, so a match must still be compared; it is built in one pass, whatever the length.
 */
export function textKey(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x9e3779b1;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return `${text.length}:${(low >>> 0).toString(36)}:${(high >>> 0).toString(36)}`;
}
