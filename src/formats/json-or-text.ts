/** What a text says as JSON; a text that is no JSON, and anything that is no text, is given back as it is. */
export function jsonOrText(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
