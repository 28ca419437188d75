import type { Alphabet } from "./alphabet.ts";

/** A token told by its fixed start: what follows must be at least so long, over `WORD` when no alphabet is given. */
export type PrefixFormat = readonly [prefix: string, type: string, minBodyChars: number, body?: Alphabet];

/** A token of several parts: a sticky pattern, tried where a text has one of the given starts of two characters. */
export interface PatternFormat {
  readonly type: string;
  readonly starts: readonly string[];
  readonly pattern: RegExp;
}
