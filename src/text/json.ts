import { commonLimit, headCut } from "./truncate.ts";

/** The JSON of any value; `{...}` where there is none (cycles, BigInt, functions, a throwing `toJSON`). */
export function safeJson(value: unknown): string {
  return tryJson(value) ?? "{...}";
}

/** The JSON of a value, or undefined where there is none. */
export function tryJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Any object from outside, read field by field. */
export type UnknownObject = Readonly<Record<string, unknown>>;

/** True for an object that is no list. */
export function isObject(value: unknown): value is UnknownObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value with every string in it changed by a function; the same reference where nothing changed. Keys stay; cycles are safe. */
export function mapStrings(value: unknown, change: (text: string) => string): unknown {
  const done = new Map<object, unknown>();

  function visit(item: unknown, depth: number): unknown {
    if (typeof item === "string") return change(item);
    if (typeof item !== "object" || item === null || depth === MAX_DEPTH) return item;
    const known = done.get(item);
    if (known !== undefined) return known;
    done.set(item, item);
    const result = Array.isArray(item) ? visitArray(item, depth) : visitObject(item, depth);
    done.set(item, result);
    return result;
  }

  function visitArray(items: readonly unknown[], depth: number): readonly unknown[] {
    const mapped = items.map((item) => visit(item, depth + 1));
    return mapped.every((item, index) => Object.is(item, items[index])) ? items : mapped;
  }

  function visitObject(object: object, depth: number): object {
    const entries = Object.entries(object);
    const mapped = entries.map(([key, item]) => [key, visit(item, depth + 1)] as const);
    return mapped.every(([, item], index) => Object.is(item, entries[index]?.[1]))
      ? object
      : Object.fromEntries(mapped);
  }

  try {
    return visit(value, 0);
  } catch {
    // A getter or a proxy that throws: such a value cannot be read, so it is left as it is.
    return value;
  }
}

/** Deeper values are left as they are: a recursion must not exhaust the stack. */
const MAX_DEPTH = 500;

/**
 * A value of the same shape whose JSON has at most `limitChars`: the longest strings are cut, all to one length.
 * Where shape alone is too long, or there is no JSON, an empty object.
 */
export function clipJson(value: unknown, limitChars: number): unknown {
  const json = tryJson(value);
  if (json === undefined) return {};
  if (json.length <= limitChars) return value;

  let maxStringChars = firstGuess(value, limitChars);
  for (;;) {
    const clipped = mapStrings(value, (text) => shorten(text, maxStringChars));
    if (safeJson(clipped).length <= limitChars) return clipped;
    if (maxStringChars === 0) return {};
    // Escapes take more room than was guessed.
    maxStringChars = Math.floor(maxStringChars * 0.8);
  }
}

/** The length to which strings must be cut if no character needs an escape. */
function firstGuess(value: unknown, limitChars: number): number {
  const lengths: number[] = [];
  const shape = mapStrings(value, (text) => {
    lengths.push(text.length);
    return "";
  });
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  return Math.min(
    longest,
    Math.max(0, Math.floor(commonLimit(lengths, limitChars - safeJson(shape).length))),
  );
}

const ELLIPSIS = "...";

function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars <= ELLIPSIS.length) return "";
  return text.slice(0, headCut(text, maxChars - ELLIPSIS.length)) + ELLIPSIS;
}

/** Values by key, keys in the order in which they first come. */
export function groupBy<T, K>(values: readonly T[], keyOf: (value: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [value]);
    else group.push(value);
  }
  return groups;
}
