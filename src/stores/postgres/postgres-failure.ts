import { codeOf, type StoreFailure } from "../files/store-failure.ts";

/** Whatever was thrown as a failure with PostgreSQL's or the system's code, and without a password in it. */
export function postgresFailure(error: unknown, redact: (text: string) => string): StoreFailure {
  const message = error instanceof Error ? error.message : "not an error object";
  // Several addresses of one host that all refuse come as one error without words.
  const inner =
    error instanceof AggregateError ? error.errors.find((each) => codeOf(each) !== undefined) : undefined;
  const reason = message || (inner instanceof Error ? inner.message : "") || "the server cannot be reached";
  const code = codeOf(error) ?? codeOf(inner) ?? (isCut(message) ? "CONNECTION_LOST" : "UNKNOWN");
  return { status: "failed", code, reason: redact(reason) };
}

/** True when the server or the way to it is away, or it gave way to somebody else, so that the same may work in a moment. */
export function isPassing({ code }: StoreFailure): boolean {
  return PASSING.has(code) || code.startsWith("08");
}

/** True when nobody answered: the next one who asks would wait as long. */
export function isAway(failure: StoreFailure): boolean {
  return isPassing(failure) && !GAVE_WAY.has(failure.code);
}

/** True when a pooler lets nobody in who brings settings for the connection. */
export function isSettingRefused(error: unknown): boolean {
  return error instanceof Error && /unsupported startup parameter/i.test(error.message);
}

/** Two that wanted the same rows. */
const GAVE_WAY: ReadonlySet<string> = new Set(["40001", "40P01"]);

const PASSING: ReadonlySet<string> = new Set([
  ...GAVE_WAY,
  // Shut down, crashed, starting, too many connections.
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
  // The socket file of a server that is being restarted.
  "ENOENT",
]);

// The driver has no codes for these.
function isCut(message: string): boolean {
  return /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|client was closed/i.test(
    message,
  );
}
