import type { Fields } from "../text/is-fields.ts";

export type { Fields } from "../text/is-fields.ts";

/** The value if it is an object, else an empty one. */
export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The value if it is a string. */
export function stringField(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value if it is a finite number. */
export function numberField(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** An object without the fields whose value is undefined. */
export function compact<T extends object>(object: T): Defined<T> {
  const defined: Record<string, unknown> = {};
  for (const key in object) {
    if (object[key] !== undefined) defined[key] = object[key];
  }
  return defined as Defined<T>;
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
