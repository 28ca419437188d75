import { codeOf, type StoreFailure } from "../../text/failure.ts";

/** Converts a thrown value into a failure with PostgreSQL's or the system's code, and redacts passwords. */
export function postgresFailure(error: unknown, redact: (text: string) => string): StoreFailure {
  const message = error instanceof Error ? error.message : "not an error object";
  // If all addresses of a host refuse, the error has no message of its own.
  const inner =
    error instanceof AggregateError ? error.errors.find((each) => codeOf(each) !== undefined) : undefined;
  const reason = message || (inner instanceof Error ? inner.message : "") || "the server cannot be reached";
  const code = codeOf(error) ?? codeOf(inner) ?? (isConnectionLost(message) ? "CONNECTION_LOST" : "UNKNOWN");
  return { status: "failed", code, reason: redact(reason) };
}

/** True if a retry may succeed: the server is unreachable, or the transaction conflicted with another. */
export function isTransient({ code }: StoreFailure): boolean {
  return TRANSIENT_CODES.has(code) || code.startsWith("08");
}

/** True if the server cannot be reached. */
export function isUnreachable(failure: StoreFailure): boolean {
  return isTransient(failure) && !CONFLICT_CODES.has(failure.code);
}

/** True if a pooler refuses settings of the connection. */
export function isSettingRefused(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message);
}

/** Serialization failure and deadlock. */
const CONFLICT_CODES: ReadonlySet<string> = new Set(["40001", "40P01"]);

const TRANSIENT_CODES: ReadonlySet<string> = new Set([
  ...CONFLICT_CODES,
  // Shutdown, crash, startup, too many connections.
  "57P01",
  "57P02",
  "57P03",
  "53300",
  "CONNECTION_LOST",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  // No socket file while the server restarts.
  "ENOENT",
]);

// Errors of the driver without a code.
function isConnectionLost(message: string): boolean {
  return /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|client was closed/i.test(
    message,
  );
}
