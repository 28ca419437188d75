/** Converts a thrown value into a failure. */
export function failureOf(error: unknown): StoreFailure {
  const reason = error instanceof Error ? error.message : "not an error object";
  return { status: "failed", code: codeOf(error) ?? "UNKNOWN", reason };
}

/** A failed system call as a value, with the code of the system or of the store. */
export interface StoreFailure {
  readonly status: "failed";
  readonly code: string;
  readonly reason: string;
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

/** What a thrown value says; never throws itself. */
export function errorMessage(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "threw something that cannot be read";
  }
}
