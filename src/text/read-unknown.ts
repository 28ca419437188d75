import type { UnknownObject } from "./json.ts";

export type { UnknownObject } from "./json.ts";

/** The value if it is an object, else an empty one. */
export function asObject(value: unknown): UnknownObject {
  return typeof value === "object" && value !== null ? (value as UnknownObject) : {};
}

/** The value if it is a string. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value if it is a finite number. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
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

/** What a text says as JSON; a text that is no JSON, and anything that is no text, is given back as it is. */
export function jsonOrText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
