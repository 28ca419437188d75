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

/** An object of unknown origin, read field by field. */
export type UnknownObject = Readonly<Record<string, unknown>>;

/** True for an object that is not an array. */
export function isObject(value: unknown): value is UnknownObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

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

/** Values by key, in the order in which keys first occur. */
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

/** The value if it is an object, else an empty one. */
export function asObject(value: unknown): UnknownObject {
  return typeof value === "object" && value !== null ? (value as UnknownObject) : {};
}

/** The value if it is a list, else an empty one. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a string. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value if it is a finite number. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** True if the value is, else nothing: for flags that are set or absent. */
export function asTrue(value: unknown): true | undefined {
  return value === true ? true : undefined;
}

/** An object without the fields whose value is undefined. */
export function omitUndefined<T extends object>(object: T): Defined<T> {
  const defined: Record<string, unknown> = {};
  for (const key in object) {
    if (object[key] !== undefined) defined[key] = object[key];
  }
  return defined as Defined<T>;
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The value that a JSON text stands for; other texts and other values are returned as they are. */
export function jsonOrText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A text as it is, nothing as an empty text, anything else as its JSON. */
export function textOrJson(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : safeJson(value);
}

/** True when two plain values are equal; values that are too deep or circular count as different. */
export function deepEqual(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth >= MAX_COMPARED_DEPTH || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      deepEqual((one as UnknownObject)[key], (other as UnknownObject)[key], depth + 1),
  );
}

const MAX_COMPARED_DEPTH = 64;

/** A hash of 32 bits, the same on every machine; not for secrets. */
export function hashText(text: string): number {
  // FNV-1a over UTF-16 units.
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** A map that drops the least recently used entry: the plugin runs for weeks, and most sessions are never deleted. */
interface LruMap<Key, Value> {
  /** Counts as a use. */
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
  delete(key: Key): void;
  /** The one that was not used for longest first. */
  keys(): readonly Key[];
}

/** An empty map that holds so many entries at the most. */
export function createLruMap<Key, Value>(maxEntries: number): LruMap<Key, Value> {
  const entries = new Map<Key, Value>();
  const put = (key: Key, value: Value): void => {
    entries.delete(key);
    entries.set(key, value);
  };
  return {
    get(key) {
      const value = entries.get(key);
      if (value !== undefined) put(key, value);
      return value;
    },
    set(key, value) {
      put(key, value);
      if (entries.size <= maxEntries) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },
    delete: (key) => void entries.delete(key),
    keys: () => [...entries.keys()],
  };
}

/** A failed system call as a value, with the code of the system or of the store. */
export interface StoreFailure {
  readonly status: "failed";
  readonly code: string;
  readonly reason: string;
}

/** Converts a thrown value into a failure. */
export function failureOf(error: unknown): StoreFailure {
  const reason = error instanceof Error ? error.message : "not an error object";
  return { status: "failed", code: codeOf(error) ?? "UNKNOWN", reason };
}

/** The code of a thrown error, such as ENOENT. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** An error with a code, for `failureOf` to convert. */
export function errorWithCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The value as JSON, or a failure if it cannot be written as JSON. */
export function toJson(value: unknown): string | StoreFailure {
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return json;
    return { status: "failed", code: "NOT_JSON", reason: `JSON has no text for ${typeof value}` };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "the value refused";
    return { status: "failed", code: "NOT_JSON", reason };
  }
}
