import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import type { ForkError } from "../../fork/life/record.ts";
import { asObject, asString } from "../../text/unknown-value.ts";

/** An error of OpenCode by the class of the provider's error. */
export function readError(error: unknown): ForkError | undefined {
  if (error === undefined || error === null) return undefined;
  const { name, data } = asObject(error);
  if (name === "MessageAbortedError") return { kind: "aborted", message: "it was stopped" };
  const { message, responseHeaders } = asObject(data);
  const retryAfterS = Number(asObject(responseHeaders)["retry-after"]);
  return {
    kind: classifyProviderError(data ?? error).class,
    message: (asString(message) ?? asString(name) ?? "unknown error").slice(0, MAX_MESSAGE_CHARS),
    ...(retryAfterS > 0 ? { retryAfterMs: retryAfterS * 1_000 } : {}),
  };
}

const MAX_MESSAGE_CHARS = 1_000;
