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

export interface NotJson {
  readonly status: "failed";
  readonly code: "NOT_JSON";
  readonly reason: string;
}
