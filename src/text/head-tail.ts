/** True when the end of an output matters as much as its beginning: for terminal tools and texts that mention an error anywhere. */
export function shouldUseHeadTail(toolName: string, resultText: string): boolean {
  const name = toolName.toLowerCase();
  return (
    FORK_HEAD_TAIL_KEYWORDS.some((keyword) => name.includes(keyword)) || anyErrorPattern.test(resultText)
  );
}

/** Outputs of tools with one of these in their name keep both ends. */
export const FORK_HEAD_TAIL_KEYWORDS: readonly string[] = ["bash", "pty", "exec"];

/** A text with one of these keeps both ends when it is cut. */
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
const MORE_ERROR_PATTERNS: readonly string[] = [
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

/** Fixed words without quantifiers: the search is linear, however long the text is. */
const anyErrorPattern = new RegExp([...FORK_ERROR_PATTERNS, ...MORE_ERROR_PATTERNS].join("|"));
