/** The JSON of any value; `{...}` where there is none (cycles, BigInt, functions, a throwing `toJSON`). */
export function safeJson(value: unknown): string {
  return jsonOf(value) ?? "{...}";
}

/** The JSON of a value, or undefined where there is none. */
export function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
