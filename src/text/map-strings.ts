/** A copy of a value with every string in it changed by a function; unchanged parts are the same references. Keys stay; cycles are safe. */
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
    // A getter or a proxy throws: the value cannot be read, so it stays as it is.
    return value;
  }
}

/** Deeper values stay as they are, so that the recursion cannot exhaust the stack. */
const MAX_DEPTH = 500;
