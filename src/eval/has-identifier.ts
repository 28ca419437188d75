import type { IdentifierClass } from "./find-identifiers.ts";

/** True when a text mentions a target: a symbol as a whole word, anything else as it stands. */
export function hasIdentifier(text: string, { identifier, class: kind }: Mentioned): boolean {
  if (kind !== "symbol") return text.includes(identifier);
  for (let at = text.indexOf(identifier); at !== -1; at = text.indexOf(identifier, at + 1)) {
    if (!isWordUnit(text.charCodeAt(at + identifier.length)) && beginsWord(text, at)) return true;
  }
  return false;
}

/** Something that a call named. */
export interface Mentioned {
  readonly identifier: string;
  readonly class: TargetClass;
}

export type TargetClass = IdentifierClass | "edit-line";

/** Digits in front do not belong to a word: `1fooBar` holds `fooBar`. */
function beginsWord(text: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && isDigit(text.charCodeAt(before))) before--;
  return before < 0 || !isWordUnit(text.charCodeAt(before));
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

function isWordUnit(unit: number): boolean {
  return isDigit(unit) || unit === 95 || (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122);
}
