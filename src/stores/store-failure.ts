/** A call of the system that did not work, as the ports want it: a value with the system's code. */
export interface StoreFailure {
  readonly status: "failed";
  readonly code: string;
  readonly reason: string;
}

/** Turns whatever was thrown into a failure. */
export function failureOf(error: unknown): StoreFailure {
  const reason = error instanceof Error ? error.message : "not an error object";
  return { status: "failed", code: codeOf(error) ?? "UNKNOWN", reason };
}

/** The system's code of a thrown error, such as ENOENT. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The value as JSON, or why JSON cannot hold it. */
export function toJson(value: unknown): string | NotJson {
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return json;
    return { status: "failed", code: "NOT_JSON", reason: `JSON has no text for ${typeof value}` };
  } catch (error) {
    return {
      status: "failed",
      code: "NOT_JSON",
      reason: error instanceof Error ? error.message : "the value refused",
    };
  }
}

interface NotJson {
  readonly status: "failed";
  readonly code: "NOT_JSON";
  readonly reason: string;
}
