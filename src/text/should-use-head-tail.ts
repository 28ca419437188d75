/** True when the end of an output matters as much as its beginning: terminal tools, and texts that speak of an error. */
export function shouldUseHeadTail(toolName: string, resultText: string): boolean {
  const name = toolName.toLowerCase();
  return FORK_HEAD_TAIL_KEYWORDS.some((keyword) => name.includes(keyword)) || speaksOfError(resultText);
}

export const FORK_HEAD_TAIL_KEYWORDS: readonly string[] = ["bash", "pty", "exec"];

export const FORK_ERROR_PATTERNS: readonly string[] = [
  "error",
  "Error",
  "ERROR",
  "failed",
  "FAILED",
  "exception",
  "traceback",
];

/** Forms that the documented patterns miss: a Python traceback, "Exception in thread", "Failed to", a panic. */
export const FORK_MORE_ERROR_PATTERNS: readonly string[] = [
  "fail",
  "FAIL",
  "stack",
  "Failed",
  "Exception",
  "Traceback",
  "panic:",
  "fatal:",
  "FATAL",
];

/** An error stands at the beginning or at the end of an output; a scan of more would cost more than it finds. */
const SCANNED_CHARS = 64 * 1024;

const anyErrorPattern = new RegExp([...FORK_ERROR_PATTERNS, ...FORK_MORE_ERROR_PATTERNS].join("|"));

function speaksOfError(text: string): boolean {
  if (text.length <= 2 * SCANNED_CHARS) return anyErrorPattern.test(text);
  return (
    anyErrorPattern.test(text.slice(0, SCANNED_CHARS)) || anyErrorPattern.test(text.slice(-SCANNED_CHARS))
  );
}
