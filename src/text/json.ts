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
