import { truncationMarker } from "../text/truncate.ts";

/**
 * A text with at most so many code points of the original: two thirds from its beginning, one third from its
 * end, and a marker between them. Never longer than the text itself.
 */
export function cutCodePoints(text: string, maxPoints: number): string {
  if (text.length <= maxPoints) return text;
  const totalPoints = countCodePoints(text);
  if (totalPoints <= maxPoints) return text;
  const headPoints = Math.ceil((maxPoints * 2) / 3);
  const headEnd = unitsOfHead(text, headPoints);
  const tailStart = text.length - unitsOfTail(text, maxPoints - headPoints);
  const cut =
    text.slice(0, headEnd) + truncationMarker(totalPoints - maxPoints, "head-tail") + text.slice(tailStart);
  return cut.length < text.length ? cut : text;
}

/** The first code points of a text. */
export function firstCodePoints(text: string, maxPoints: number): string {
  return text.length <= maxPoints ? text : text.slice(0, unitsOfHead(text, maxPoints));
}

/** How many code points a text has; half of a pair that stands alone counts as one. */
export function countCodePoints(text: string): number {
  let points = text.length;
  for (let index = 0; index + 1 < text.length; index++) {
    if (isPair(text, index)) {
      points--;
      index++;
    }
  }
  return points;
}

function unitsOfHead(text: string, points: number): number {
  let index = 0;
  for (let count = 0; count < points && index < text.length; count++) index += isPair(text, index) ? 2 : 1;
  return index;
}

function unitsOfTail(text: string, points: number): number {
  let index = text.length;
  for (let count = 0; count < points && index > 0; count++) index -= isPair(text, index - 2) ? 2 : 1;
  return text.length - index;
}

function isPair(text: string, index: number): boolean {
  if (index < 0) return false;
  return (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}
