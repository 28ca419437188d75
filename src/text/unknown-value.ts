/** True for an object that is not an array. */
export function isObject(value: unknown): value is UnknownObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object of unknown origin, read field by field. */
export type UnknownObject = Readonly<Record<string, unknown>>;

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
