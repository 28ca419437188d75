import { jsonOrText, tryJson } from "../../text/json.ts";

/** The input of a call whose wire keeps it as JSON text. Nothing is an empty input; text that is no JSON is the input itself. */
export function readArguments(text: unknown): unknown {
  if (typeof text !== "string") return text ?? {};
  if (text.trim() === "") return {};
  return jsonOrText(text);
}

/** The JSON text of an input. */
export function writeArguments(input: unknown): string {
  return tryJson(input ?? {}) ?? "{}";
}

/** True for a text that parses as JSON. */
export function isJsonText(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
